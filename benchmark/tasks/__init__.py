"""The tasks, one file each."""

from benchmark.tasks.coloured_shapes import COLOURED_SHAPES
from benchmark.tasks.dota_planes import DOTA_PLANES
from benchmark.tasks.icdar_blocks import ICDAR_BLOCKS
from benchmark.tasks.task import Answer, Part, Task
from benchmark.tasks.text_blocks import TEXT_BLOCKS
from benchmark.tasks.toy_shapes import TOY_SHAPES
from ivl_shards import UserError
from ivl_shards.errors import did_you_mean

TASKS = {
    task.name: task
    for task in (TOY_SHAPES, COLOURED_SHAPES, DOTA_PLANES, TEXT_BLOCKS, ICDAR_BLOCKS)
}

__all__ = ["TASKS", "Answer", "Part", "Task", "find_task"]


def find_task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        hint = did_you_mean(name, TASKS)
        raise UserError(f"no task '{name}'{hint}: there are {', '.join(TASKS)}")
    return TASKS[name]
