"""Cross-validation: each photograph is scored by a model that was trained without it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmark.data.datasets import leave_out, open_folds
from benchmark.evaluation.evaluate import predict_all, score_predictions
from benchmark.evaluation.predictions import RowPrediction
from benchmark.models.build import build_model
from benchmark.models.contract import Model
from benchmark.models.load import find_weights, load_model
from benchmark.results.environment import environment
from benchmark.results.result import Result, scores_of
from benchmark.run import Run, train_model
from benchmark.training.run_folder import hold_folder
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress


def cross_validate(run: Run, folds: int, variants: Sequence[Mapping[str, Any]]) -> list[Result]:
    """Train one model for each fold, without its samples, and score the samples of all folds.

    Parameters
    ----------
    run
        What is trained; each fold has a run folder of its own, so a stopped run resumes.
    folds
        The number of parts that the photographs (or other groups of samples) are divided into.
    variants
        Options of the model to predict with, such as thresholds, instead of those of the
        training. Each gets a result, from the same weights.
    """
    task = run.task
    if encoder := run.config.training.encoder:
        known = load_model(find_weights(encoder))[0]
        require(
            known.task != task.name,
            f"encoder {encoder}: was trained on the photographs of all folds: use --set encoder=",
        )
    train_set = run.open_train()
    divided = open_folds(task, run.data, folds)
    dataset = divided.val
    found: list[list[RowPrediction]] = [[] for _ in variants]
    seconds = [0.0 for _ in variants]
    for fold, names in enumerate(divided.names, 1):
        part = replace(run, config=replace(run.config, fold=fold, folds=folds))
        with hold_folder(part.folder.path, part.config):
            model = train_model(part, leave_out(train_set, divided.field, names))
        rows = np.flatnonzero(np.isin(dataset.column(divided.field), names))
        for k, options in enumerate(variants):
            begun = time.monotonic()
            found[k] += _predict_rows(part, _with_options(part, model, options), dataset, rows)
            seconds[k] += time.monotonic() - begun
    config = replace(run.config, folds=folds)
    return [
        Result(
            task=task,
            model=config.model,
            preset=config.preset,
            config=config,
            changes=(*run.all_changes, *(f"{n}={_text(v)}" for n, v in options.items())),
            test_data=dataset.attributes["content_sha256"],
            split="val",
            train_data=train_set.attributes["content_sha256"],
            environment=environment(),
            **scores_of(score_predictions(task, dataset, predictions, time.monotonic() - took)),
        )
        for predictions, options, took in zip(found, variants, seconds, strict=True)
    ]


def _with_options(run: Run, model: Model, options: Mapping[str, Any]) -> Model:
    """Return a model with other options and the same weights."""
    if not options:
        return model
    config = run.config
    changed = {**config.training.model, **options}
    variant = build_model(config.model, run.task, config.preset, changed)
    variant.load_state_dict(model.state_dict())
    run.decoding.apply(variant)
    return variant


def _predict_rows(run: Run, model: Model, dataset: Dataset, rows: Array) -> list[RowPrediction]:
    """Predict some samples of a dataset."""
    part = dataset[rows]
    with show_progress(len(part), run.quiet) as report:
        found = predict_all(run.task, model, part, run.processes.device, report)
    return [replace(each, row=int(rows[each.row])) for each in found]


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
