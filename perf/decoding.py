"""Speed of reading text: decoding, and blocks of more and more lines.

.venv/bin/python perf/decoding.py

The model is the `fast` one of text blocks with weights that have learnt nothing, so each step is
taken as often as there are lines to read. What it says is noise, which is the worst that a
decoder can be given: with a trained model nearly all beginnings of a text drop out at once.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from measure import HEADER, Figure, at_most, best_seconds, stated

from benchmark.data.batches import TrainingSet, make_batch, training_batches
from benchmark.data.datasets import DataFolder
from benchmark.evaluation.decoding import Decoding, beam_texts
from benchmark.evaluation.trie import lexicon_trie
from benchmark.models.build import build_model
from benchmark.models.ctc import greedy_texts
from benchmark.models.line_reader import LineReader
from benchmark.models.step import Step
from benchmark.reading.blocks import read_picture
from benchmark.registry import find_task, find_training
from benchmark.tasks.task import Split
from benchmark.training.settings import Training
from textblocks_gen.words.lexicon import load_lexicon

TASK = find_task("text-blocks")
LINES = (1, 5, 10)
_STEPS = 2  # of training
_BATCH = 8


def make_model() -> LineReader:
    """As a run begins with it."""
    torch.manual_seed(0)
    options = find_training(TASK, "inductive", "fast").model
    model = build_model("inductive", TASK, "fast", options)
    assert isinstance(model, LineReader)
    return model.eval().to(memory_format=torch.channels_last)


@torch.no_grad()
def block_seconds(model: LineReader, image: torch.Tensor, lines: int) -> float:
    """Time to encode a block and take a step for each of its lines."""
    memory = torch.zeros(1, *image.shape[2:])

    def work() -> None:
        encoded = model.encode(image)
        for _ in range(lines):
            model.step(encoded, memory)

    return best_seconds(work)


def lines() -> list[Figure]:
    """Decoding alone, of a long line of noise."""
    torch.manual_seed(0)
    scores = (3 * torch.randn(4, 250, 1 + len(TASK.alphabet))).log_softmax(2)
    words = load_lexicon().words
    tries = [lexicon_trie(some, TASK.alphabet, "default") for some in (words, words[::90])]
    greedy = best_seconds(lambda: greedy_texts(scores, TASK.alphabet)) / len(scores)
    beam_texts(scores, TASK.alphabet, tries[0])  # compiled
    large, small = (
        best_seconds(lambda trie=trie: beam_texts(scores, TASK.alphabet, trie)) / len(scores)
        for trie in tries
    )
    return [
        stated("decoding a line greedily", 1000 * greedy, "ms"),
        stated("decoding a line along the lexicon", 1000 * large, "ms"),
        at_most("the lexicon of 90k words over one of 1k", large / small, "times", 4),
    ]


def blocks(data: Path) -> list[Figure]:
    """Blocks of several lengths, decoded greedily and along a lexicon."""
    model = make_model()
    image = make_batch(
        TASK, list(DataFolder(data).open(TASK, Split("test", (3,), 3)))[:1], []
    ).images
    greedy = {n: block_seconds(model, image, n) for n in LINES}
    with torch.no_grad():
        encoding = best_seconds(lambda: model.encode(image))
    Decoding("default").apply(model)
    constrained = {n: block_seconds(model, image, n) for n in LINES}
    rows = [stated(f"a block, lines read: {n}", 1000 * s, "ms") for n, s in greedy.items()]
    first, last = LINES[1], LINES[-1]
    # A line costs the same wherever it stands, and the image is encoded once.
    line = (greedy[last] - greedy[first]) / (last - first)
    expected = encoding + last * line
    return [
        *rows,
        stated("encoding a block, over a step", encoding / line, "times"),
        at_most(
            f"{last} lines over one encoding and {last} steps",
            greedy[last] / expected,
            "times",
            1.3,
        ),
        *(
            stated(f"the same with the lexicon: {n}", 1000 * s, "ms")
            for n, s in constrained.items()
        ),
        at_most(f"{last} lines, lexicon over greedy", constrained[last] / greedy[last], "times", 2),
    ]


def pictures() -> list[Figure]:
    """A photograph as `ivl-bench read` takes it, with as many lines in each of its sizes."""
    model, taken = make_model(), 0
    one_step = model.step

    def step(encoded: torch.Tensor, memory: torch.Tensor) -> Step:
        nonlocal taken
        found, taken = one_step(encoded, memory), taken + 1
        return replace(found, stop=torch.full((len(memory),), float(taken > LINES[-1])))

    def work() -> None:
        nonlocal taken
        taken = 0
        read_picture(model, TASK, picture)

    model.step = step  # type: ignore[method-assign]
    picture = torch.randint(0, 256, (1500, 2000, 3)).byte().numpy()
    what = f"a photograph of 3 megapixels with {LINES[-1]} lines in every size tried"
    return [at_most(what, best_seconds(work, repeats=2), "s", 2)]


def training(data: Path) -> list[Figure]:
    """Blocks a second of training steps as a run makes them."""
    model = make_model().train()
    dataset = DataFolder(data).open(TASK, Split("train", TASK.train.counts, 24))
    batches = list(
        training_batches(TASK, TrainingSet(dataset), Training(_STEPS, _BATCH), 0, range(_STEPS))
    )
    optimizer = torch.optim.AdamW(model.parameters())

    def steps() -> None:
        for batch in batches:
            optimizer.zero_grad()
            model.loss(batch).mean().backward()
            optimizer.step()

    steps()
    return [stated("training", _STEPS * _BATCH / best_seconds(steps, repeats=3), "blocks/s")]


def figures() -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        return [*lines(), *blocks(Path(folder)), *pictures(), *training(Path(folder))]


if __name__ == "__main__":
    print(HEADER)
    for figure in figures():
        print(figure.row())
