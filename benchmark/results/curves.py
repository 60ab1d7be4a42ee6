"""Training curves: one small chart for each run, as an SVG picture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

_COLUMNS = 3
_WIDTH, _HEIGHT = 320, 236  # size of a chart with its labels
_LEFT, _TOP, _RIGHT, _BOTTOM = 46, 54, 312, 196  # edges of its axes
_LETTERS = 46  # most letters in a line of its title
_TRAINING, _VALIDATION = "#8b93a1", "#c2410c"
Points = list[tuple[float, float]]  # steps and losses


@dataclass(frozen=True)
class Curve:
    """The training and validation losses of a run."""

    label: str
    training: Points
    validation: Points


def read_curve(label: str, lines: Sequence[Mapping[str, float]]) -> Curve:
    """Return the losses in a run's log; those of a diverged training may not be numbers."""

    def points(name: str) -> Points:
        return [(p["step"], p[name]) for p in lines if name in p and 0 < p[name] < math.inf]

    return Curve(label, points("loss"), points("validation"))


def draw_curves(curves: Sequence[Curve]) -> str:
    """Return an SVG picture with a chart for each curve.

    Each chart has its own scale: losses of different models do not compare.
    """
    columns = min(_COLUMNS, len(curves))
    rows = math.ceil(len(curves) / _COLUMNS)
    width, height = columns * _WIDTH, rows * _HEIGHT + 42
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
        'fill="#4b5563">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for k, curve in enumerate(curves):
        row, column = divmod(k, _COLUMNS)
        parts += [f'<g transform="translate({column * _WIDTH} {row * _HEIGHT})">', *_chart(curve)]
        parts.append("</g>")
    # One below the other: a single chart is too narrow for both.
    parts += [
        _text(_LEFT, height - 26, "training loss of single batches, by step", "start", _TRAINING),
        _text(_LEFT, height - 10, "validation loss", "start", _VALIDATION),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _chart(curve: Curve) -> list[str]:
    points = curve.training + curve.validation
    parts = [
        _text(_LEFT, 14 + 13 * k, line, "start", "#111827")
        for k, line in enumerate(wrap(curve.label, _LETTERS)[:3])
    ]
    if not points:
        return [*parts, _text((_LEFT + _RIGHT) / 2, 120, "no loss that is a number")]
    last = max(step for step, _ in points)
    low = math.log10(min(loss for _, loss in points))
    high = max(math.log10(max(loss for _, loss in points)), low + 0.1)

    def place(step: float, loss: float) -> tuple[float, float]:
        up = (math.log10(loss) - low) / (high - low)
        return _LEFT + (_RIGHT - _LEFT) * step / last, _BOTTOM - (_BOTTOM - _TOP) * up

    for tick in _ticks(low, high):
        y = place(0, tick)[1]
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="#e5e7eb"/>')
        parts.append(_text(_LEFT - 5, y + 4, f"{tick:g}", "end"))
    parts.append(_text(_LEFT, _BOTTOM + 15, "0"))
    parts.append(_text(_RIGHT, _BOTTOM + 15, f"{last:,.0f}", "end"))
    lines = (curve.training, _TRAINING, 1), (curve.validation, _VALIDATION, 2)
    for series, colour, wide in lines:
        if series:
            path = "L".join("{:.1f} {:.1f}".format(*place(*point)) for point in series)
            parts.append(
                f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{wide}" '
                'stroke-linejoin="round"/>'
            )
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return round losses between two powers of ten.

    >>> _ticks(-0.1, 1.2)
    [1.0, 2.0, 5.0, 10.0]
    """
    steps: tuple[int, ...] = (1, 2, 5) if high - low < 2.5 else (1,)
    if high - low < 0.4:
        steps = tuple(range(1, 10))
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [s * 10.0**p for p in powers for s in steps if low <= math.log10(s) + p <= high]


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = "#4b5563") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
