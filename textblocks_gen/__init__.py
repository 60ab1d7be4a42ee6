"""Blocks of text lines, to be read one line at a time."""
