"""How sure a reader must be, and in which size a block is read best: on ICDAR's training blocks.

IVL_DATA=… .venv/bin/python perf/sizes.py                  # some minutes

The limits of benchmark/sizes.py were chosen by this table: words of all training blocks, read by
the model that comes along and knows synthetic text alone, in each size, and in all of them with
the surest reading taken.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

import click
import numpy as np

from benchmark.bench import find_weights, load_model
from benchmark.data import image_batch, open_part
from benchmark.evaluation import score, true_answer
from benchmark.inference import run_loop
from benchmark.models import InductiveModel
from benchmark.sizes import is_text, letters, lines
from benchmark.tasks import Answer, find_task
from benchmark.tasks.icdar_blocks import SIZES, looks

LIMITS = (0.0, 0.5, 0.65, 0.75, 0.8, 0.85, 0.9)
POWERS = (1, 2, 4)


@click.command()
@click.option("--weights", default="text-blocks-inductive-fast", show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default="data", help="for the blocks")
def main(weights: str, data: Path) -> None:
    """Read the training blocks, print."""
    task = find_task("icdar-blocks")
    dataset = open_part(task, task.train, data)
    model = cast(InductiveModel, load_model(find_weights(weights))[1].eval())
    samples = list(dataset)
    read = [run_loop(model, image_batch(np.stack(looks(sample)))) for sample in samples]
    truths = [true_answer(task, sample) for sample in samples]
    lengths = dataset.column(task.scored_by)

    def show(name: str, said: Sequence[Answer]) -> None:
        scores = score(task, lengths, list(zip(range(len(said)), said, truths, strict=True)))
        figures = " ".join(f"{metric} {scores[metric]['all'].value:5.1f}" for metric in scores)
        print(f"{name:32} {figures}", flush=True)

    for k, size in enumerate(SIZES):
        show(f"size {size:g} alone", [traces[k].outputs for traces in read])
    for limit in LIMITS:
        for power in POWERS:
            measure = partial(letters, limit=limit, power=power)
            chosen = [max(map(lines, traces), key=measure) for traces in read]
            kept = [[t for t, sure in each if is_text(t, sure, limit)] for each in chosen]
            show(f"surest, limit {limit:.2f}, power {power}", kept)


if __name__ == "__main__":
    main()
