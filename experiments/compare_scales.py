"""Compare the scales at which photographed blocks are read, on ICDAR's train split.

IVL_DATA=… .venv/bin/python experiments/compare_scales.py                  # some minutes

Prints the word F of the blocks that the bundled model was not trained on (`held out`) and, with
--all-blocks, of all blocks of the train split: at single scales and merged from several, read by
the model itself and by PP-OCRv6 (`inductive-ocr`).
"""

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from benchmark.data.datasets import DataFolder, split_validation
from benchmark.data.letterbox import letterbox_at_scale
from benchmark.evaluation.evaluate import Predicted, score
from benchmark.models.inductive_ocr import InductiveOcr
from benchmark.models.line_reader import LineReader
from benchmark.models.load import find_weights, load_reader
from benchmark.reading.multi_scale import LineFinder, ScaleReading, merge_scales, read_views
from benchmark.tasks.icdar_blocks import ICDAR_BLOCKS
from benchmark.tasks.task import ReadingTask
from ivl_shards.format.reader import Dataset

SCALES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4)
SETS = ((0,), (2,), (0, 2), (0, 2, 4), (0, 1, 2, 3, 4, 5))


@click.command()
@click.option("--weights", default="icdar-blocks-inductive-fast", show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default="data", help="for the blocks")
@click.option("--all-blocks", is_flag=True, help="Read those that were trained on, too.")
def main(weights: str, data: Path, all_blocks: bool) -> None:
    """Read the blocks, print."""
    task = ICDAR_BLOCKS
    dataset = DataFolder(data).open(task, task.train)
    _, model = load_reader(find_weights(weights))
    assert isinstance(model, LineReader)
    parts = {"held out": split_validation(task, dataset)[1]}
    if all_blocks:
        parts["all"] = dataset
    readers: dict[str, LineFinder] = {"own": model, "inductive-ocr": InductiveOcr(model)}
    for part, blocks in parts.items():
        for name, reader in readers.items():
            compare(task, f"{part}, {name}", reader, blocks)


def compare(task: ReadingTask, name: str, reader: LineFinder, blocks: Dataset) -> None:
    """Print the word F of blocks at single scales and merged from several."""
    assert task.letterbox is not None
    canvas = task.letterbox
    samples = list(blocks)
    found = [
        read_views(
            reader, s.image, [letterbox_at_scale(s.image, canvas, scale) for scale in SCALES]
        )
        for s in samples
    ]
    lengths = blocks.column(task.group_scores_by)
    truths = [task.truth(sample) for sample in samples]

    def show(label: str, read: Sequence[ScaleReading]) -> None:
        texts = [reading.texts for reading in read]
        rows = map(Predicted, range(len(read)), texts, truths)
        scores = score(task, lengths, list(rows))["word F"]
        print(
            f"{name:28} {label:24} "
            + " ".join(
                f"{column}: {scores[column].value:5.1f}"
                for column in ("all", 1, "2+")
                if column in scores
            ),
            flush=True,
        )

    for chosen in SETS:
        label = "/".join(f"{SCALES[k]:g}" for k in chosen)
        show(label, [merge_scales([views[k] for k in chosen]) for views in found])
    print(f"{name:28} {np.size(found)} readings of {len(samples)} blocks")


if __name__ == "__main__":
    main()
