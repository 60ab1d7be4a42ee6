"""Player: the steps of inductive models at test images, beside what other models answer."""

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import torch
from torch import Tensor

from benchmark.bench import load_model
from benchmark.data.batches import data_file, image_batch, make_batch, open_part
from benchmark.evaluation.metrics import edits
from benchmark.evaluation.scores import answers_to, block_text, true_answer
from benchmark.models import InductiveModel, Model
from benchmark.reading.pages import read_page
from benchmark.results.report.entries import Entry
from benchmark.results.report.picks import pick_rows
from benchmark.results.report.recording import Recording, map_sheet, record_loop, shrink
from benchmark.tasks import Answer, Task
from ivl_shards import Sample, UserError
from ivl_shards.format.pictures import png
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.progress import Report, no_report

# No side of an image is longer than this, in pixels; the text in it stays readable.
_LONGEST = 512
# Colour images are smaller as JPEG, and look the same at this quality.
_QUALITY = 85
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Loaded:
    """A run with its model, ready to be asked."""

    entry: Entry
    model: Model


def task_player(
    task: Task,
    entries: Sequence[Entry],
    data: Path,
    samples: int,
    report: Report = no_report,
    named: Collection[str] = (),
) -> dict[str, Any]:
    """What the page plays for a task, and why it plays no more than that."""
    loaded, absent = _load_all(task, entries, data, named)
    inductive = [run for run in loaded if isinstance(run.model, InductiveModel)]
    others = {
        run.entry.label: run
        for run in reversed(loaded)
        if not isinstance(run.model, InductiveModel)
    }
    report(len(entries) - len(inductive))
    if not inductive:
        absent.append("There is no inductive run to be played.")
        return {"runs": [], "absent": absent}
    dataset = open_part(task, task.test, data)
    runs = []
    for run in inductive:
        runs.append(_run_json(task, run, list(others.values())[::-1], dataset, samples))
        report(1)
    return {"runs": runs, "absent": absent}


def _load_all(
    task: Task, entries: Sequence[Entry], data: Path, named: Collection[str]
) -> tuple[list[Loaded], list[str]]:
    loaded, absent = [], []
    for entry in entries:
        if entry.config is None:
            continue
        try:
            loaded.append(Loaded(entry, _load(task, entry, data, named)))
        except UserError as error:
            absent.append(f"{entry.name} is not played: {error}")
    return loaded, absent


def _load(task: Task, entry: Entry, data: Path, named: Collection[str]) -> Model:
    """The model of a run that can be asked about the test set it was scored on."""
    if entry.weights is None:
        raise UserError("a result without its run's folder, which has the weights")
    if not data_file(task, task.test, data).exists():
        raise UserError(f"its test set is not in {data}: see --data")
    test = open_part(task, task.test, data)
    wrong = entry.result["evaluation"]["wrong"]
    if test.attributes["content_sha256"] != entry.tested_on or (
        wrong and wrong[-1][0] >= len(test)
    ):
        raise UserError(f"it was scored on another test set than the one in {data}")
    config, model = load_model(entry.weights, named)
    if entry.config is None or config.task != task.name or config.model != entry.config.model:
        raise UserError("its weights are of another model than its result")
    return model.eval()


def _run_json(
    task: Task, run: Loaded, others: list[Loaded], dataset: Dataset, samples: int
) -> dict[str, Any]:
    evaluation = run.entry.result["evaluation"]
    wrong = {row for row, *_ in evaluation["wrong"]}
    played = [
        # A model may answer otherwise when it sees an image alone: then the page says so.
        {**_sample_json(task, run, others, dataset[row], row), "scored_right": row not in wrong}
        for row in pick_rows(evaluation, dataset.lengths, samples)
    ]
    # Sorting is stable: failures stay in their order, and so do successes.
    played.sort(key=lambda sample: sample["answers"][0]["right"])
    return {"name": run.entry.name, "label": run.entry.label, "samples": played}


def _sample_json(
    task: Task, run: Loaded, others: list[Loaded], sample: Sample, row: int
) -> dict[str, Any]:
    assert isinstance(run.model, InductiveModel)
    images, said = _shown(task, run.model, sample)
    recording = record_loop(run.model, images, sample.length)
    truth = true_answer(task, sample)
    with torch.no_grad():
        answers = [(o.entry.label, answers_to(task, o.model, [sample], _CPU)[0]) for o in others]
    own = (run.entry.label, _answer(task, recording) if said is None else said)
    return {
        "row": row,
        "length": sample.length,
        "size": [images.shape[3], images.shape[2]],
        "image": _picture(images[0]),
        "maps": png_url(map_sheet(recording)),
        "stops": recording.stops,
        "outputs": recording.outputs,
        "ended": recording.ended,
        "truth": truth,
        "answers": [_answer_json(who, answer, truth) for who, answer in (own, *answers)],
    }


def _shown(task: Task, model: InductiveModel, sample: Sample) -> tuple[Tensor, Answer | None]:
    """The image (1, C, H, W) to watch a model at; where it sees several sizes, the one that it
    reads best, and the lines of it that count."""
    if not task.zooms or task.page is None:
        return make_batch(task, [sample], []).images, None
    best = read_page(model, sample.image, task.page, task.zooms)
    return image_batch(best.view.pixels[None]), [*best.texts]


def _answer(task: Task, recording: Recording) -> Answer:
    return len(recording.outputs) if task.kind == "counting" else recording.outputs


def _answer_json(who: str, answer: Answer, truth: Answer) -> dict[str, Any]:
    said, wanted = block_text(answer), block_text(truth)
    return {
        "who": who,
        "answer": _shorten(answer, truth),
        "right": answer == truth,
        "off": f"{edits(said, wanted)} of {len(wanted)}" if isinstance(answer, list) else "",
    }


def _shorten(answer: Answer, truth: Answer) -> Answer:
    """An answer that can be shown: models that are not trained may go on for ever."""
    if not isinstance(answer, list) or not isinstance(truth, list):
        return answer
    most = 2 * len(truth) + 4
    wide = 2 * max(map(len, truth), default=0) + 4
    lines = [line if len(line) <= wide else f"{line[:wide]}…" for line in answer[:most]]
    return lines if len(answer) <= most else [*lines[:-1], f"… {len(answer) - most + 1} more"]


def _picture(image: Tensor) -> str:
    """What the model saw, (C, H, W), 0 to 1."""
    pixels = (image * 255).round().byte().permute(1, 2, 0).numpy()  # (H, W, C)
    return image_url(shrink(pixels if len(image) == 3 else pixels[..., 0], _LONGEST))


def image_url(pixels: Array) -> str:
    """Return the URL that holds an image: PNG for shades (H, W), JPEG for colours (H, W, 3)."""
    if pixels.ndim == 2:
        return png_url(pixels)
    ordered = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    data = cv2.imencode(".jpg", ordered, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1]
    return _url("jpeg", data.tobytes())


def png_url(pixels: Array) -> str:
    """Return the URL that holds shades (H, W)."""
    return _url("png", png(pixels))


def _url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
