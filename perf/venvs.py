"""Environments: other people's packages, each in a virtual environment of its own."""

from pathlib import Path

from benchmark.baselines.engines import RAPIDOCR
from benchmark.baselines.environment import environment as make_environment
from ivl_shards import UserError

# Everything is named, and nothing resolved: peers ask for versions that cannot be had together,
# for libraries of desktops where the headless ones do, and for torch where they do without.
_IMAGES = ("numpy==1.23.5", "pillow==9.5.0", "opencv-python-headless==4.8.1.78")
_RIGHT_TO_LEFT = ("arabic-reshaper==2.1.3", "python-bidi==0.4.2", "six")
PACKAGES = {
    "trdg": (
        "trdg==1.8.0", *_IMAGES, *_RIGHT_TO_LEFT, "requests", "urllib3", "idna", "certifi",
        "charset-normalizer", "tqdm", "wikipedia", "beautifulsoup4", "soupsieve",
        "typing-extensions", "diffimg==0.2.3", "future", "setuptools==69.5.1",
    ),
    "synthtiger": (
        "synthtiger==1.2.1", *_IMAGES, *_RIGHT_TO_LEFT, "blend-modes==2.1.0", "fonttools",
        "imgaug==0.4.0", "imageio==2.31.1", "scikit-image==0.20.0", "lazy-loader", "networkx",
        "tifffile==2023.4.12", "PyWavelets==1.4.1", "shapely==2.0.6", "scipy==1.10.1",
        "matplotlib==3.7.5", "contourpy==1.1.1", "cycler", "kiwisolver", "pyparsing",
        "python-dateutil", "packaging", "pygame", "pytweening", "pyyaml", "regex",
    ),
    "rapidocr": RAPIDOCR,
    # PP-OCRv6's weights are in the wheel.
    "rapidocr 3": (
        "rapidocr==3.10.0", "onnxruntime==1.31.1", "numpy", "pillow", "opencv-python-headless",
        "pyclipper", "shapely", "pyyaml", "six", "tqdm", "omegaconf", "requests", "colorlog",
        "flatbuffers", "protobuf", "packaging", "charset-normalizer", "idna", "urllib3", "certifi",
    ),
}  # fmt: skip
SCRIPTS = Path(__file__).parent / "peers"


def environment(name: str) -> Path | None:
    """The interpreter of a package's environment, or None, and a line that says why."""
    try:
        return make_environment(name, PACKAGES[name])
    except UserError as error:
        print(f"{error}: left out", flush=True)
        return None
