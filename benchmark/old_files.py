"""Files of earlier versions: names that were stored once, translated into today's.

The only place that knows the old names. Datasets, weights, results and run folders of earlier
versions pass through here when they are read; nothing writes the old names any more.
"""

from collections.abc import Mapping
from typing import Any

OLD_SETTINGS = {
    "batch": "batch_size",
    "optimiser": "optimizer",
    "rate": "learning_rate",
    "warm_up": "warmup",
    "decay": "weight_decay",
    "clip": "grad_clip",
    "average": "ema",
    "choose": "keep_best",
    "words": "word_steps",
    "finding": "finder_steps",
    "locating": "locate_steps",
}
"""Training settings: the old name → today's."""
OLD_DATASETS = {"dota-crops": "dota-planes"}
"""The `task` attribute of datasets: the old name → today's."""
OLD_TEST_SETS = {
    # ICDAR blocks of generator version 1 had `source_image` as a list of one name; nothing else
    # differs from version 2.
    "d515dc888f0317b1a2fd7cafd3d9c2569baf7e97417d17222f006c533053d42f": (
        "3d7a3fb1a863cb64f971141368afcbbc12596957d98464c893cbbcc0d85e762f"
    ),
}
"""Content checksums of test sets: that of the same samples as they were stored once → today's."""
OLD_CHECKPOINT_PARTS = {"average": "ema", "optimiser": "optimizer"}
"""First parts of tensor names in checkpoints: the old one → today's."""


def upgrade_settings(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return stored training settings under today's names."""
    return {OLD_SETTINGS.get(name, name): value for name, value in values.items()}


def upgrade_metadata(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the metadata of a file of weights under today's names."""
    return {"environment" if k == "surroundings" else k: v for k, v in values.items()}


def upgrade_result(values: Mapping[Any, Any], first_metric: str) -> dict[Any, Any]:
    """Return a stored result under today's names.

    Results used to hold the first metric as `scores` and all of them, if there were several, as
    `metrics`; and the checksum of the test set alone, or those of both sets by split.
    """
    found = upgrade_metadata(values)
    if isinstance(found.get("changes"), list):
        found["changes"] = [_upgrade_change(change) for change in found["changes"]]
    evaluation = found.pop("evaluation", None)
    if isinstance(evaluation, dict):
        scores = evaluation.get("scores")
        found["metrics"] = evaluation.get("metrics", {first_metric: scores})
        found["wrong"] = evaluation.get("wrong")
        found["wrong_total"] = evaluation.get("wrong_in_all")
        found["seconds"] = evaluation.get("seconds", 0.0)
    data = found.get("data")
    if isinstance(data, str):
        found["data"] = {"test": data}
    elif isinstance(data, dict) and "test" not in data and len(data) == 2:  # DOTA's test split
        train, test = data.get("train"), data.get("val")
        found["data"] = {"train": train, "test": test}
    return found


def _upgrade_change(change: Any) -> Any:
    """Return a changed setting under its name of today.

    >>> _upgrade_change("rate=0.001")
    'learning_rate=0.001'
    """
    if not isinstance(change, str):
        return change
    name, equals, value = change.partition("=")
    return f"{OLD_SETTINGS.get(name, name)}=" + value if equals else change
