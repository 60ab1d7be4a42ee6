"""The benchmark: does a model trained on short visual sequences work on long ones?

The names below are for third parties: models derive from `Model` or `InductiveModel`; tasks,
metrics and models are registered by name. docs/EXTEND.md has an example of each.
"""

import benchmark.builtins  # noqa: F401  (registers our own tasks and models)
from benchmark.data.batches import Batch, CountingBatch, ReadingBatch
from benchmark.evaluation.metrics import (
    Metric,
    Prediction,
    Score,
    Tally,
    accuracy,
    ratio,
    tally_ratio,
    tally_right,
)
from benchmark.models.contract import InductiveModel, Model
from benchmark.models.step import Step
from benchmark.registry import (
    ModelEntry,
    find_task,
    register_metric,
    register_model,
    register_task,
)
from benchmark.tasks.task import CountingTask, ReadingTask, Split, Task
from benchmark.training.settings import Training

__all__ = [
    "Batch",
    "CountingBatch",
    "CountingTask",
    "InductiveModel",
    "Metric",
    "Model",
    "ModelEntry",
    "Prediction",
    "ReadingBatch",
    "ReadingTask",
    "Score",
    "Split",
    "Step",
    "Tally",
    "Task",
    "Training",
    "accuracy",
    "find_task",
    "ratio",
    "register_metric",
    "register_model",
    "register_task",
    "tally_ratio",
    "tally_right",
]
