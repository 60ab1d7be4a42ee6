"""Alphabets: the symbols that a reader can predict. `--set alphabet=NAME` chooses one.

To add symbols, add an alphabet here; weights that were trained with another one are refused.
"""

from collections.abc import Mapping
from string import ascii_letters, digits, punctuation
from typing import Any

from benchmark.tasks.task import ReadingTask
from ivl_shards import UserError

LETTERS = " " + ascii_letters
"""The space and the letters that the lexicon's words consist of."""
ASCII = LETTERS + digits + punctuation
"""Printable ASCII."""
ALPHABETS = {"letters": LETTERS, "ascii": ASCII}
"""Alphabets by name."""


def alphabet_name(task: ReadingTask, options: Mapping[str, Any]) -> str:
    """Return the name of a line reader's alphabet; older weights, which do not state one, have
    `letters`."""
    return str(options.get("alphabet", "letters" if task.photographs else ""))


def reader_alphabet(task: ReadingTask, options: Mapping[str, Any]) -> str:
    """Return the symbols of a line reader."""
    name = alphabet_name(task, options)
    if not task.photographs:
        if name:
            raise UserError(f"alphabet '{name}': {task.name} has its own alphabet")
        return task.alphabet
    if name not in ALPHABETS:
        raise UserError(f"alphabet '{name}': {' or '.join(ALPHABETS)}")
    return ALPHABETS[name]
