"""Baselines: other people's readers on the same blocks, and trivial rules."""
