"""The fonts that texts are drawn with: a pinned catalogue, or any folder, screened.

from fonts import default_faces, fingerprint, load

faces = load("my-fonts")    # or default_faces(): the catalogue, if `ivl-fonts install` has run
"""

from fonts.face import Face, fingerprint
from fonts.screening import Screening, Verdict, screen
from fonts.sources import default_faces, load, packaged_faces

__all__ = [
    "Face",
    "Screening",
    "Verdict",
    "default_faces",
    "fingerprint",
    "load",
    "packaged_faces",
    "screen",
]
