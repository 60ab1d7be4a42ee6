"""Weights: safetensors files with metadata about their training. No pickle is ever loaded.

A file is data: its metadata is checked before it is used, and nothing that it names is imported
(see `benchmark.models.load.load_model`).
"""

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from benchmark.files import require_file
from benchmark.old_files import upgrade_metadata
from ivl_shards import Damage, UserError
from ivl_shards.disk import write_whole
from ivl_shards.errors import limit_reached

FORMAT = "ivl-weights-1"
# Characters of the metadata; ours have some thousand.
_LONGEST = 1_000_000


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write tensors with metadata, whole or not at all."""
    contiguous = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    text = json.dumps(dict(metadata))
    header = {"format": FORMAT, "about": text, "sha256": _digest(contiguous, text)}
    # Not `save_file`, whose files only their owner can read.
    write_whole(path, save(contiguous, header))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the metadata of a file."""
    header, tensors = _open(path, with_tensors=True)
    # Files from before there were checksums have none.
    if "sha256" in header and header["sha256"] != _digest(tensors, header["about"]):
        raise Damage(f"{path}: damaged (its checksum is wrong): get it or make it again")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise Damage(f"{path}: '{name}' holds values that are not numbers")
    return tensors, _metadata(path, header)


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a file without loading its tensors."""
    return _metadata(path, _open(path, with_tensors=False)[0])


def _open(path: Path, with_tensors: bool) -> tuple[dict[str, str], dict[str, Tensor]]:
    require_file(path)
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT or "about" not in header:
                raise UserError(f"{path}: holds weights, but none that ivl-bench has written")
            names = list(file.keys()) if with_tensors else []
            return header, {name: file.get_tensor(name) for name in names}
    except RuntimeError as error:  # torch opens the file by itself, and tells the reason in words
        if "Too many open files" not in str(error):
            raise
        raise OSError(errno.EMFILE, "Too many open files", str(path)) from None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        if isinstance(error, OSError) and (limit := limit_reached(error, f"{path}: ")):
            raise limit from None
        raise UserError(
            f"{path}: not a whole safetensors file ({error}): other formats are not loaded"
        ) from None


def _metadata(path: Path, header: Mapping[str, str]) -> dict[str, Any]:
    text = header["about"]
    try:
        found = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UserError(f"{path}: its metadata cannot be read")
    return upgrade_metadata(found)


def _digest(tensors: Mapping[str, Tensor], about: str) -> str:
    """Return a checksum over all that a file holds."""
    digest = hashlib.sha256(about.encode("utf-8", "replace"))
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode("utf-8", "replace"))
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def check_fit(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raise unless tensors are those of a model, by name, shape and type.

    Numbers may be stored in half precision, to keep bundled files small.
    """
    own = model.state_dict()
    missing, foreign = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    other = sorted(
        k
        for k in own.keys() & tensors.keys()
        if own[k].shape != tensors[k].shape or not _holds(tensors[k], own[k])
    )
    if missing or foreign or other:
        example = (missing + foreign + other)[0]
        raise UserError(f"{path}: weights of another model than this one (see '{example[:100]}')")


def _holds(stored: Tensor, own: Tensor) -> bool:
    halved = stored.dtype == torch.float16 and own.dtype == torch.float32
    return halved or stored.dtype == own.dtype


def load_into(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a model its weights; those of another model are refused."""
    check_fit(model, tensors, path)
    model.load_state_dict(dict(tensors))
