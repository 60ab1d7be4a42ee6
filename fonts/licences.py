"""Licences: what the faces of a set may be used for, in a few words."""

import re
from collections import Counter
from collections.abc import Iterable

from fonts.face import Face

# How fonts put it in words of their own, and the SPDX name of what they mean.
_KNOWN = {
    r"SIL Open Font Licen[sc]e|\bOFL\b|Reserved Font Name": "OFL-1.1",
    r"Apache Licen[sc]e, Version 2\.0": "Apache-2.0",
    r"Bitstream": "Bitstream-Vera",
    r"^As a condition for receiving these fonts at no charge": "STIX",
}
_OTHER = "under words of its own"


def tally(faces: Iterable[Face]) -> str:
    """Return how many faces have which licence: `16 Apache-2.0, 4 OFL-1.1`."""
    found = Counter(short_licence(face.licence) for face in faces)
    return ", ".join(f"{count:,} {name}" for name, count in found.most_common())


def short_licence(words: str) -> str:
    """Return the SPDX name of a licence if its text names one.

    >>> short_licence("Licensed under the Apache License, Version 2.0")
    'Apache-2.0'
    >>> short_licence("OFL-1.1"), short_licence("Ask my brother.")
    ('OFL-1.1', 'under words of its own')
    """
    for pattern, name in _KNOWN.items():
        if re.search(pattern, words):
            return name
    return _OTHER if " " in words else words  # names, and "unknown", are one word
