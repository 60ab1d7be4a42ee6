"""Score a reader that is still being trained, and keep its weights.

.venv/bin/textblocks-gen --lines 3-5,10 --n 150 --split val --seed 1 val.h5
.venv/bin/python perf/snapshot.py runs/text-blocks-inductive-fast-seed0 val.h5 --out now.safetensors

Takes the averaged weights of a run's last checkpoint. Validation blocks are generated like those of
the test, in a split of their own, so that a choice among readers does not touch the test.
"""

import json
from pathlib import Path

import click
import numpy as np
import torch

from benchmark.evaluation.scores import Evaluation, evaluate
from benchmark.files import read_json
from benchmark.models.build import build_model
from benchmark.registry import find_task
from benchmark.training.run_folder import RunFolder, config_from_json
from benchmark.training.weights import load_into, load_tensors, save_tensors
from ivl_shards import open_dataset
from ivl_shards.options import run as run_command

_PATH = click.Path(path_type=Path, exists=True)


def summary(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Scores by the number of lines, and how often that number is right."""
    table: dict[str, dict[str, float]] = {}
    for metric, scores in evaluation.scores.items():
        for column, score in scores.items():
            table.setdefault(str(column), {})[metric] = round(score.value, 2)
    counts: dict[str, list[bool]] = {}
    for _, answer, truth in evaluation.answers:
        assert isinstance(answer, list) and isinstance(truth, list)
        counts.setdefault(str(len(truth)), []).append(len(answer) == len(truth))
    for column, right in counts.items():
        table[column]["lines counted right"] = round(100 * float(np.mean(right)), 1)
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
    tensors, about = load_tensors(folder.checkpoint)
    prefix = "average." if any(k.startswith("average.") for k in tensors) else "model."
    kept = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    small = {k: v.half() if v.is_floating_point() else v for k, v in kept.items()}
    task = find_task(config.task)
    model = build_model(config.model, task, config.preset, config.training.model)
    load_into(model, small, folder.checkpoint)
    if out is not None:
        stated = {"config": config.to_json(), "seconds": about["seconds"], "step": about["step"]}
        save_tensors(out, small, stated)
    dataset = open_dataset(validation)
    rows = np.unique(np.linspace(0, len(dataset) - 1, min(n, len(dataset))).astype(int))
    found = evaluate(task, model, dataset[rows], torch.device("cpu"))
    click.echo(
        json.dumps(
            {
                "step": about["step"],
                "blocks": about["step"] * config.training.batch,
                "seconds": round(found.seconds, 1),
                **summary(found),
            }
        )
    )


if __name__ == "__main__":
    run_command(main, "snapshot.py")
