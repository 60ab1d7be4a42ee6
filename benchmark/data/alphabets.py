"""Alphabets: the symbols that a reader can predict. `--set alphabet=NAME` chooses one.

To add symbols, add an alphabet here; weights that were trained with another one are refused.
"""

from string import ascii_letters, digits, punctuation

LETTERS = " " + ascii_letters
"""The space and the letters that the lexicon's words consist of."""
ASCII = LETTERS + digits + punctuation
"""Printable ASCII."""
ALPHABETS = {"letters": LETTERS, "ascii": ASCII}
"""Alphabets by name."""
