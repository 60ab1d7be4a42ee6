"""The line reader: its alphabet, its strip reader, and how often its finder is trained."""

from dataclasses import replace
from pathlib import Path
from string import ascii_letters, digits, printable

import numpy as np
import pytest
import torch

import textblocks_gen
from benchmark.data.batches import ReadingBatch, TrainingSet, make_batch, training_batches
from benchmark.models.build import build_model
from benchmark.models.ctc import greedy_texts
from benchmark.models.line_reader import LineReader
from benchmark.models.load import bundled_weights, find_weights, load_initial, load_model
from benchmark.models.strips import (
    Band,
    StripShape,
    are_close,
    cut_strips,
    perturb_bands,
    quad_bands,
)
from benchmark.registry import find_task, find_training
from benchmark.training.checkpoints import State
from benchmark.training.loop import make_optimizer, one_step
from benchmark.training.settings import Training
from ivl_shards import UserError, open_dataset
from ivl_shards.format.reader import Dataset
from textblocks_gen import TextRecipe

torch.set_num_threads(1)

TASK = find_task("text-blocks")
# The strip reader of the preset with fewer channels.
SMALL = {
    "alphabet": "ascii",
    "layers": "residual",
    "rows": 32,
    "squeeze": 4 / 3,
    "reader": [8, 8, 16, 16, 32],
    "hidden": 32,
}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Generate small blocks of one word a line, some of them numbers."""
    recipe = TextRecipe(
        (1, 2),
        8,
        split="train",
        height=144,
        width=160,
        words=(1, 1),
        digits=0.5,
        punctuation=0.5,
    )
    path = tmp_path_factory.mktemp("data") / "blocks.h5"
    textblocks_gen.generate(recipe, path, workers=1)
    return open_dataset(path)


def batch_of(blocks: Dataset, find: bool = True) -> ReadingBatch:
    rngs = [np.random.default_rng(k) for k in range(4)]
    batch = make_batch(TASK, [blocks[k] for k in range(4)], rngs)
    assert isinstance(batch, ReadingBatch)
    return replace(batch, train_finder=find)


def reader(**options: object) -> LineReader:
    torch.manual_seed(0)
    model = build_model("inductive", TASK, "fast", {**SMALL, **options})
    assert isinstance(model, LineReader)
    return model


def test_the_preset_reads_printable_ascii() -> None:
    model = build_model("inductive", TASK, "fast", find_training(TASK, "inductive", "fast").model)
    assert isinstance(model, LineReader)
    assert set(model.alphabet) == set(printable) - set("\t\n\r\x0b\x0c")
    assert len(model.alphabet) == len(set(model.alphabet))


def test_numbers_and_punctuation_are_in_training_data_only(blocks: Dataset) -> None:
    assert any(set(text) & set(digits) for said in batch_of(blocks).texts for text in said)
    letters = {text for said in batch_of(blocks).texts for text in said}
    assert any(set(text) - set(digits + ascii_letters) for text in letters)


def test_older_weights_have_letters_only_and_can_be_loaded() -> None:
    for path in bundled_weights():
        config, model = load_model(path)
        if isinstance(model, LineReader) and find_task(config.task).photographs:
            stated = config.training.model.get("alphabet", "letters")
            assert len(model.alphabet) == {"letters": 53, "ascii": 95}[stated]


def test_weights_with_another_alphabet_are_refused() -> None:
    """Even if both have the same number of symbols, so that all shapes agree."""
    icdar = find_task("icdar-blocks")
    options = find_training(icdar, "inductive", "fast").model
    old = str(find_weights("icdar-blocks-inductive-fast"))
    if "alphabet" not in load_model(find_weights(old))[0].training.model:
        with pytest.raises(UserError, match="alphabet 'letters'.* 'ascii'"):
            load_initial(old, build_model("inductive", icdar, "fast", options))
    for wrong in ("runes", "", ["letters"], 5):
        with pytest.raises(UserError, match="letters or ascii"):
            reader(alphabet=wrong)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UserError, match="plain or residual"):
        reader(layers="wide")
    with pytest.raises(UserError, match="its own alphabet"):
        build_model("inductive", find_task("toy-shapes"), "fast", {"alphabet": "ascii"})


def test_steps_without_finding_do_not_change_the_finder(blocks: Dataset) -> None:
    model = reader()
    training = find_training(TASK, "inductive", "fast", {"precision": "float32"})
    state = State(model.train(), make_optimizer(training, model), None)
    objective = model.loss
    one_step(training, state, objective, batch_of(blocks))  # type: ignore[arg-type]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state.step = 1
    one_step(training, state, objective, batch_of(blocks, find=False))  # type: ignore[arg-type]
    for name, value in model.state_dict().items():
        if name.startswith("finder."):
            assert torch.equal(value, before[name]), name
    assert not torch.equal(model.reader.characters.weight, before["reader.characters.weight"])


def test_the_finder_is_trained_at_first_and_then_in_one_step_of_eight(blocks: Dataset) -> None:
    some = Training(18, 1, augment=False, finder_steps=3)
    batches = training_batches(TASK, TrainingSet(blocks), some, 0, range(18))
    found = [step for step, batch in enumerate(batches) if getattr(batch, "train_finder", False)]
    assert found == [0, 1, 2, 8, 16]
    every = training_batches(TASK, TrainingSet(blocks), replace(some, finder_steps=0), 0, range(4))
    assert all(getattr(batch, "train_finder", False) for batch in every)


@pytest.mark.skipif(
    not torch.cpu.get_capabilities().get("avx512_bf16"), reason="the CPU lacks bfloat16"
)
def test_bfloat16_hardly_changes_the_loss(blocks: Dataset) -> None:
    with torch.no_grad():
        exact = reader().loss(batch_of(blocks))
        with torch.autocast("cpu", torch.bfloat16):
            rounded = reader().loss(batch_of(blocks))
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, exact, rtol=0.03, atol=0.0)


def test_the_reader_overfits_a_batch(blocks: Dataset) -> None:
    """Numbers and punctuation included."""
    model = reader(reader=[16, 16, 32, 32, 64], error=0.02).train()
    batch = batch_of(blocks, find=False)
    optimiser = torch.optim.AdamW(model.reader.parameters(), lr=1e-2)
    for step in range(400):
        for group in optimiser.param_groups:
            group["lr"] = 1e-2 * (1 - step / 400)
        fresh = replace(batch, rngs=[np.random.default_rng([step, k]) for k in range(4)])
        optimiser.zero_grad()
        loss = model.loss(fresh).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
    assert loss.item() < 0.4  # per symbol; 3 if nothing is predicted
    said = [text for lines in batch.texts for text in lines]
    quads = torch.cat([q[: len(t)] for q, t in zip(batch.quads, batch.texts, strict=True)])
    image = torch.tensor([i for i, lines in enumerate(batch.texts) for _ in lines])
    grey = batch.images.mean(1, keepdim=True)[image]
    strips = cut_strips(grey, quad_bands(quads), StripShape(32, 720, 4 / 3))
    with torch.no_grad():
        read = model.decode(model.eval().reader(strips)[0])
    assert sum(a == b for a, b in zip(read, said, strict=True)) >= len(said) / 2


def test_squeezed_strips_are_shorter() -> None:
    band = Band(torch.tensor([[4.0, 20]]), torch.tensor([[100.0, 20]]), torch.full((1, 2), 16.0))
    image = torch.rand(1, 1, 40, 120)
    plain, squeezed = (
        cut_strips(image, band, StripShape(32, 720, s)).columns.item() for s in (1.0, 4 / 3)
    )
    assert squeezed == pytest.approx(plain * 3 / 4, abs=1)


def test_bands_are_close_if_a_line_can_be_read_in_them() -> None:
    true = Band(torch.tensor([[4.0, 20]]), torch.tensor([[100.0, 20]]), torch.full((1, 2), 16.0))
    assert are_close(true, true).all()
    assert are_close(perturb_bands(true, torch.full((1, 5), 0.1)), true).all()
    one_letter_short = torch.tensor([[0.0, 0, -0.8, 0, 0]])
    half_a_line_down = torch.tensor([[0, 0.7, 0, 0.7, 0]])
    for errors in (one_letter_short, half_a_line_down):
        assert not are_close(perturb_bands(true, errors), true).any()


def test_training_data_have_numbers_and_test_data_have_words_only(tmp_path: Path) -> None:
    """The test set is that of the paper."""
    for part in (replace(TASK.train, total=60), replace(TASK.test, counts=(3,), total=60)):
        TASK.generate(part, 0, tmp_path / f"{part.name}.h5", tmp_path)
        texts = "".join(
            t
            for k in range(60)
            for t in TASK.line_texts(open_dataset(tmp_path / f"{part.name}.h5")[k])
        )
        assert bool(set(texts) - set(" " + ascii_letters)) == (part.name == "train")


def test_a_strip_can_begin_some_columns_earlier() -> None:
    band = Band(torch.tensor([[30.0, 20]]), torch.tensor([[100.0, 20]]), torch.full((1, 2), 25.6))
    image, shape = torch.rand(1, 1, 40, 120), StripShape(32, 720)  # one column a pixel
    plain, earlier = (cut_strips(image, band, shape, lead=lead) for lead in (0.0, 3.0))
    assert earlier.columns.item() == plain.columns.item() + 3
    several = slice(3, plain.columns.item())
    assert (
        np.corrcoef(
            earlier.pixels[0, 0, :, several].flatten(),
            plain.pixels[0, 0, :, : several.stop - 3].flatten(),
        )[0, 1]
        > 0.99
    )


def test_what_lies_outside_of_the_image() -> None:
    """A shape at the left edge goes on in the strip's margin, or the ground does."""
    image = torch.zeros(1, 1, 40, 120)
    image[..., 10:30, :8] = 1
    band = Band(torch.tensor([[0.0, 20]]), torch.tensor([[100.0, 20]]), torch.full((1, 2), 25.6))
    border, zeros = (
        cut_strips(image, band, StripShape(32, 720, padding=name)).pixels[0, 0, 16]
        for name in ("border", "zeros")
    )
    assert (border[:12] > 0).all()
    assert (zeros[:6] < 0).all() and (zeros[10:12] > 0).all()


def test_of_several_views_the_most_probable_text_is_kept() -> None:
    """In the first view, both frames are more probably blank than the symbol that they share."""
    model = reader(views=3).eval()
    unsure, sure = torch.tensor([[0.6, 0.4], [0.6, 0.4]]), torch.tensor([[0.1, 0.9], [0.9, 0.1]])
    seen: list[int] = []

    class Reader(torch.nn.Module):
        def forward(self, strips):
            seen.append(int(strips.columns[0]))
            return torch.stack([unsure if len(seen) == 1 else sure]).log(), strips.columns

    model.reader = Reader()
    model.decode = lambda scores: greedy_texts(scores, "a")
    band = Band(torch.full((1, 2), 20.0), torch.tensor([[90.0, 20]]), torch.full((1, 2), 16.0))
    texts, confidence = model.read(torch.rand(1, 1, 40, 120), band)
    assert texts == ["a"] and confidence.tolist() == pytest.approx([0.9])
    assert seen == sorted(set(seen))  # each view begins earlier
