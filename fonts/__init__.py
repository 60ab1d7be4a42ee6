"""Fonts."""
