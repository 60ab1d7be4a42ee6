"""Datasets in the formats of other tools: plain files, WebDataset, COCO, ICDAR."""
