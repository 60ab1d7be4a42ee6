"""Typesetting: faces, lines and blocks, and how they come into the image."""
