"""Results: their files, tables beside the paper's, model cards, the report page."""
