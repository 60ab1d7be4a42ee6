"""Read the pictures of single lines in a folder with RapidOCR's recogniser, PP-OCRv6.

Runs in an environment of its own: python rapidocr_lines.py FOLDER. Prints a line of JSON a picture.
"""

import json
import logging
import sys
from pathlib import Path

import cv2
from rapidocr import RapidOCR


def main(folder: Path) -> None:
    """Print what each picture says."""
    logging.disable(logging.WARNING)
    reader = RapidOCR()
    for path in sorted(folder.glob("*.png")):
        found = reader(cv2.imread(str(path)), use_det=False, use_cls=False, use_rec=True)
        print(json.dumps({"file": path.name, "text": "".join(found.txts or ())}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
