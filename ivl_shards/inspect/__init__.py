"""Look at a dataset and describe it: info, verify, previews, dataset card, Croissant metadata."""
