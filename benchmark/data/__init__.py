"""From datasets to batches of tensors: generation of missing data, letterboxing, augmentation."""
