"""Player: the steps of inductive models on test images, beside the predictions of others."""

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import torch
from torch import Tensor

from benchmark.data.batches import image_batch, make_batch
from benchmark.data.datasets import DataFolder
from benchmark.evaluation.evaluate import predict
from benchmark.evaluation.metrics import Prediction, block_text, edits
from benchmark.models.contract import InductiveModel, Model
from benchmark.models.load import load_model
from benchmark.reading.multi_scale import read_at_scales
from benchmark.results.report.entries import Entry
from benchmark.results.report.picks import pick_rows
from benchmark.results.report.recording import map_sheet, record_loop, shrink
from benchmark.tasks.task import ReadingTask, Task
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
class Playback:
    """What the report plays step by step."""

    data: Path
    """Folder of the datasets; a run whose test set it lacks is not played."""
    samples: int = 6
    """Number of test images for each inductive run."""
    named: Collection[str] = ()
    """Models of third parties whose code may be imported: see `benchmark.models.load`."""


@dataclass(frozen=True)
class Loaded:
    """A run with its trained model."""

    entry: Entry
    model: Model


def task_player(
    task: Task,
    entries: Sequence[Entry],
    playback: Playback,
    report: Report = no_report,
) -> dict[str, Any]:
    """Return what the page plays for a task, and why it does not play the rest."""
    loaded, absent = _load_all(task, entries, playback)
    inductive = [run for run in loaded if isinstance(run.model, InductiveModel)]
    others = {
        run.entry.label: run
        for run in reversed(loaded)
        if not isinstance(run.model, InductiveModel)
    }
    report(len(entries) - len(inductive))
    if not inductive:
        absent.append("No run of an inductive model can be played.")
        return {"runs": [], "absent": absent}
    dataset = DataFolder(playback.data).open_existing(task, task.test)
    runs = []
    for run in inductive:
        runs.append(_run_json(task, run, list(others.values())[::-1], dataset, playback.samples))
        report(1)
    return {"runs": runs, "absent": absent}


def _load_all(
    task: Task, entries: Sequence[Entry], playback: Playback
) -> tuple[list[Loaded], list[str]]:
    loaded, absent = [], []
    for entry in entries:
        if entry.result.config is None:
            continue
        try:
            loaded.append(Loaded(entry, _load(task, entry, playback)))
        except UserError as error:
            absent.append(f"{entry.name} is not played: {error}")
    return loaded, absent


def _load(task: Task, entry: Entry, playback: Playback) -> Model:
    """Return the model of a run whose test set is at hand."""
    folder, data = DataFolder(playback.data), playback.data
    if entry.weights is None:
        raise UserError("the result is not in its run's folder, which has the weights")
    if not folder.path(task, task.test).exists():
        raise UserError(f"its test set is not in {data}: see --data")
    test = folder.open_existing(task, task.test)
    wrong, config = entry.result.wrong, entry.result.config
    if test.attributes["content_sha256"] != entry.result.test_data or (
        wrong and wrong[-1][0] >= len(test)
    ):
        raise UserError(f"it was scored on another test set than the one in {data}")
    trained, model = load_model(entry.weights, playback.named)
    if config is None or trained.task != task.name or trained.model != config.model:
        raise UserError("its weights belong to another model")
    return model.eval()


def _run_json(
    task: Task, run: Loaded, others: list[Loaded], dataset: Dataset, samples: int
) -> dict[str, Any]:
    result = run.entry.result
    wrong = {row for row, *_ in result.wrong}
    played = [
        # A prediction may differ when a model sees an image alone: then the page says so.
        {**_sample_json(task, run, others, dataset[row], row), "scored_right": row not in wrong}
        for row in pick_rows(result, dataset.lengths, samples)
    ]
    # Sorting is stable: failures stay in their order, and so do successes.
    played.sort(key=lambda sample: sample["predictions"][0]["right"])
    return {"name": run.entry.name, "label": run.entry.label, "samples": played}


def _sample_json(
    task: Task, run: Loaded, others: list[Loaded], sample: Sample, row: int
) -> dict[str, Any]:
    assert isinstance(run.model, InductiveModel)
    images, read = _model_input(task, run.model, sample)
    recording = record_loop(run.model, images, sample.length)
    truth = task.truth(sample)
    with torch.no_grad():
        predictions = [(o.entry.label, predict(task, o.model, [sample], _CPU)[0]) for o in others]
    own = (run.entry.label, task.prediction(recording.outputs) if read is None else read)
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
        "predictions": [
            _prediction_json(label, prediction, truth) for label, prediction in (own, *predictions)
        ],
    }


def _model_input(
    task: Task, model: InductiveModel, sample: Sample
) -> tuple[Tensor, Prediction | None]:
    """Return the image (1, C, H, W) that a model sees; of several scales, the one that it reads
    best, with the lines read at all of them."""
    if not isinstance(task, ReadingTask) or not task.test_scales or task.letterbox is None:
        return make_batch(task, [sample], []).images, None
    best = read_at_scales(model, sample.image, task.letterbox, task.test_scales)
    return image_batch(best.view.pixels[None]), [*best.texts]


def _prediction_json(label: str, prediction: Prediction, truth: Prediction) -> dict[str, Any]:
    read, wanted = block_text(prediction), block_text(truth)
    return {
        "model": label,
        "prediction": _shorten(prediction, truth),
        "right": prediction == truth,
        "off": f"{edits(read, wanted)} of {len(wanted)}" if isinstance(prediction, list) else "",
    }


def _shorten(prediction: Prediction, truth: Prediction) -> Prediction:
    """Return a prediction that can be shown: models that are not trained may never end."""
    if not isinstance(prediction, list) or not isinstance(truth, list):
        return prediction
    most = 2 * len(truth) + 4
    wide = 2 * max(map(len, truth), default=0) + 4
    lines = [line if len(line) <= wide else f"{line[:wide]}…" for line in prediction[:most]]
    more = len(prediction) - most
    return lines if more <= 0 else [*lines[:-1], f"… {more + 1} more"]


def _picture(image: Tensor) -> str:
    """Return the URL of the image that a model saw, (C, H, W), 0 to 1."""
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
