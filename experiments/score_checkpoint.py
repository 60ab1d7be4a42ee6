"""Score a reader that is still being trained, and save its weights.

.venv/bin/textblocks-gen --lines 3-5,10 --n 150 --split val --seed 1 val.h5
.venv/bin/python experiments/score_checkpoint.py runs/RUN val.h5 --out now.safetensors

Takes the moving average of the weights in a run's last checkpoint. The validation blocks are
generated like those of the test set, in a split of their own.
"""

import json
from pathlib import Path

import click
import numpy as np
import torch

from benchmark.evaluation.evaluate import Evaluation, evaluate
from benchmark.files import read_json
from benchmark.models.build import build_model
from benchmark.registry import find_task
from benchmark.training.run_folder import RunFolder, config_from_json
from benchmark.training.weights import load_into, load_tensors, save_tensors
from ivl_shards import open_dataset
from ivl_shards.options import run as run_command

_PATH = click.Path(path_type=Path, exists=True)


def summary(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Return the scores by number of lines and metric."""
    table: dict[str, dict[str, float]] = {}
    for metric, scores in evaluation.scores.items():
        for column, score in scores.items():
            table.setdefault(str(column), {})[metric] = round(score.value, 2)
    return table


@click.command()
@click.argument("run", type=_PATH)
@click.argument("validation", type=_PATH)
@click.option("--n", type=int, default=10_000, help="Blocks to read, evenly among all.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep the weights, in float16.")
def main(run: Path, validation: Path, n: int, out: Path | None) -> None:
    """Score the last checkpoint of a RUN on VALIDATION blocks."""
    torch.set_num_threads(1)
    folder = RunFolder(run)
    config = config_from_json(read_json(folder.config), folder.config)
    tensors, metadata = load_tensors(folder.checkpoint)
    prefix = "ema." if any(k.startswith("ema.") for k in tensors) else "model."
    kept = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    small = {k: v.half() if v.is_floating_point() else v for k, v in kept.items()}
    task = find_task(config.task)
    model = build_model(config.model, task, config.preset, config.training.model)
    load_into(model, small, folder.checkpoint)
    if out is not None:
        stated = {
            "config": config.to_json(),
            "seconds": metadata["seconds"],
            "step": metadata["step"],
        }
        save_tensors(out, small, stated)
    dataset = open_dataset(validation)
    rows = np.unique(np.linspace(0, len(dataset) - 1, min(n, len(dataset))).astype(int))
    found = evaluate(task, model, dataset[rows], torch.device("cpu"))
    click.echo(
        json.dumps(
            {
                "step": metadata["step"],
                "blocks": metadata["step"] * config.training.batch_size,
                "seconds": round(found.seconds, 1),
                **summary(found),
            }
        )
    )


if __name__ == "__main__":
    run_command(main, "score_checkpoint.py")
