"""Standard test sets: is a test set the one that results are compared on, and if not, why not?"""

from benchmark.data.recipes import join_differences, recipe_differences
from benchmark.tasks.task import Task
from ivl_shards.format.reader import Dataset

STANDARD, NONE = "standard", "no standard one is on record"
VALIDATION = "validation set"


def set_differences(task: Task, dataset: Dataset) -> str:
    """Say in what a test set differs from the task's standard one; empty: it is the standard one,
    or none is recorded."""
    if not task.standard or dataset.attributes["content_sha256"] in task.standard:
        return ""
    different = recipe_differences(task.recipe(task.test, 0), dataset.recipe)
    if task.source_differences is not None and "operation" not in dataset.recipe:
        different += task.source_differences(dataset)
    if not different:
        source = "the source (fonts, photographs)" if task.photographs else "the generator"
        return f"the recipe is the same, {source} differs"
    return join_differences(different)


def set_words(task: Task, dataset: Dataset) -> str:
    """Say whether a test set is the task's standard one, and if not, what differs."""
    if not task.standard:
        return NONE
    different = set_differences(task, dataset)
    return f"not standard: {different}" if different else STANDARD
