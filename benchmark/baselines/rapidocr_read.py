"""Read images with RapidOCR, in its own environment: rapidocr_read.py FOLDER

Prints one JSON object a line: {"file": name, "pieces": [{"quad": [[x, y] × 4], "text": text} …]}.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Read every picture of the folder, by name."""
    # Here, because it is there in its own environment alone.
    from rapidocr_onnxruntime import RapidOCR

    # One thread: cores that others use, too, are then no part of the result.
    reader = RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
    for path in sorted(Path(sys.argv[1]).iterdir()):
        if path.suffix.lower() not in (".jpg", ".jpeg", ".png"):
            continue
        # The classifier of upside-down text is left out: it can only do harm here.
        found, _ = reader(str(path), use_cls=False)
        pieces = [{"quad": quad, "text": text} for quad, text, _ in found or []]
        print(json.dumps({"file": path.name, "pieces": pieces}), flush=True)


if __name__ == "__main__":
    main()
