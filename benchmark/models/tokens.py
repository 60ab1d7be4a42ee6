"""Tokens: texts as integers, for decoders that predict one symbol at a time."""

import torch
from torch import Tensor


class Tokens:
    """The symbols of an alphabet, the end of a line and the end of the block.

    >>> tokens = Tokens("ab")
    >>> tokens.line("ba"), tokens.block(["ba", "a"]), tokens.text([1, 0, 2, 0])
    ([1, 0, 2], [1, 0, 2, 0, 3], ['ba', 'a'])
    """

    def __init__(self, alphabet: str) -> None:
        self.alphabet = alphabet
        self.number = {symbol: k for k, symbol in enumerate(alphabet)}
        self.end_line = len(alphabet)
        self.end_block = len(alphabet) + 1

    def __len__(self) -> int:
        return len(self.alphabet) + 2

    def line(self, text: str) -> list[int]:
        """Return the tokens of one line and its end."""
        return [self.number[c] for c in text] + [self.end_line]

    def block(self, lines: list[str]) -> list[int]:
        """Return the tokens of a block: its lines, separated by ends of lines, and its end."""
        return [t for line in lines for t in self.line(line)][:-1] + [self.end_block]

    def text(self, tokens: list[int]) -> list[str]:
        """Return the lines that tokens spell, up to the end of the block."""
        lines, started = [""], False
        for token in tokens:
            if token == self.end_block:
                break
            started = True
            if token == self.end_line:
                lines.append("")
            else:
                lines[-1] += self.alphabet[token]
        return lines if started else []


def pad_tokens(rows: list[list[int]], device: torch.device) -> Tensor:
    """Return rows of tokens as one tensor (N, L), padded with -1."""
    out = torch.full((len(rows), max(map(len, rows))), -1, device=device)
    for k, row in enumerate(rows):
        out[k, : len(row)] = torch.tensor(row)
    return out
