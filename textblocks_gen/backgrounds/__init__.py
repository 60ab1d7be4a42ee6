"""Backgrounds: photographs, textures and drawn scenes behind the text."""
