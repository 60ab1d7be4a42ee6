"""Training: presets, the training loop, run folders, weights, several processes."""
