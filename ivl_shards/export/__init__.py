"""Export to the formats of other tools: plain files, WebDataset, Parquet, COCO, ICDAR."""
