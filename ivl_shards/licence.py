"""Licence: that of a dataset, as the catalogues of others write it."""

import re

# SPDX names are one word; anything longer is a licence in words of its own.
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def licence_head(licence: str) -> dict[str, str]:
    """For the head of a Hugging Face card.

    >>> licence_head("CC0-1.0")
    {'license': 'cc0-1.0'}
    >>> licence_head("for research only")
    {'license': 'other', 'license_name': 'for research only'}
    """
    if _SPDX.fullmatch(licence):
        return {"license": licence.lower()}
    return {"license": "other", "license_name": licence}


def licence_address(licence: str) -> str:
    """For Croissant: an address where SPDX has one, or else the words.

    >>> licence_address("CC0-1.0")
    'https://spdx.org/licenses/CC0-1.0.html'
    """
    return f"https://spdx.org/licenses/{licence}.html" if _SPDX.fullmatch(licence) else licence
