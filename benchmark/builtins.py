"""Our own tasks and models, registered as those of third parties are."""

from benchmark.models.build import END_TO_END, INDUCTIVE
from benchmark.registry import register_model, register_task
from benchmark.tasks.coloured_shapes import COLOURED_SHAPES, COLOURED_SHAPES_HARD
from benchmark.tasks.dota_planes import DOTA_PLANES
from benchmark.tasks.icdar_blocks import ICDAR_BLOCKS
from benchmark.tasks.text_blocks import TEXT_BLOCKS
from benchmark.tasks.toy_shapes import TOY_SHAPES, TOY_SHAPES_FIXED
from benchmark.training.presets import task_presets

for _entry in (INDUCTIVE, END_TO_END):
    register_model(_entry)
for _task in (
    TOY_SHAPES,
    TOY_SHAPES_FIXED,
    COLOURED_SHAPES,
    COLOURED_SHAPES_HARD,
    DOTA_PLANES,
    TEXT_BLOCKS,
    ICDAR_BLOCKS,
):
    register_task(_task, task_presets(_task.name))
