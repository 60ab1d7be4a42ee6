"""Weights: models as safetensors files that say what they are of. No pickle is ever loaded."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from ivl_shards import UserError

FORMAT = "ivl-weights-1"


def save_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and what there is to say about them, whole or not at all."""
    new = path.with_name(path.name + ".new")
    contiguous = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    # Not `save_file`, whose files only their owner can read.
    new.write_bytes(save(contiguous, {"format": FORMAT, "about": json.dumps(dict(about))}))
    new.replace(path)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of a file of ours, and what it says about them."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise UserError(f"{path}: holds weights, but none that ivl-bench has written")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads(metadata["about"])
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise UserError(
            f"{path}: not a whole safetensors file ({error}): other formats are not loaded"
        ) from None


def load_into(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a model its weights; those of another model are refused."""
    own = model.state_dict()
    missing, foreign = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    other = [k for k in own.keys() & tensors.keys() if own[k].shape != tensors[k].shape]
    if missing or foreign or other:
        example = (missing + foreign + other)[0]
        raise UserError(f"{path}: weights of another model than this one (see '{example}')")
    model.load_state_dict(dict(tensors))
