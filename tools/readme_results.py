"""Write the results table of the README from the files in results/.

make readme       # this, docs/RESULTS.md and docs/MODELS.md
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark.baselines.engines import ENGINES
from benchmark.baselines.trivial import RULES
from benchmark.results.leaderboard import Leaderboard, Standing, all_leaderboards
from benchmark.results.result import Result
from benchmark.results.tables import in_table, read_results, samples_words

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- results: make readme -->", "<!-- end of results -->"
HEAD = (
    "| model | trained lengths | longer lengths (mean) | test samples | seeds |\n"
    "|---|---|---|---|---|"
)
# Trained lengths and longer ones; where all lengths were trained on, one line and several.
COLUMNS = 2


def make_table(results: Sequence[Result]) -> str:
    """Return the table: each task by its first metric; docs/RESULTS.md has them all."""
    boards = all_leaderboards(results)
    return "\n".join([HEAD, *(line for board in boards for line in _task_lines(board))])


def select_models(board: Leaderboard) -> list[Standing]:
    """Return the paper's models, our inductive and end-to-end models, the best OCR baseline and
    the trivial rules."""
    models = [s for s in board.standings if not s.row.is_trial]
    ocr = [s for s in models if s.row.model in ENGINES][:1]
    wanted = ("inductive", "end-to-end", *RULES)
    return [s for s in models if s.row.is_paper or s.row.model in wanted or s in ocr]


def _task_lines(board: Leaderboard) -> list[str]:
    metric = board.metric
    better = ", lower is better" if metric.lower_is_better else ""
    head = f"**{board.task.title}**: {metric.name} in {metric.unit}{better}"
    spans = [f"*{span.title}*" for span in board.columns[:COLUMNS]]
    return [_line([head, *spans, "", ""]), *(_row(s) for s in select_models(board))]


def _row(standing: Standing) -> str:
    row = standing.row
    label = in_table(row.label)
    cells = [cell.markdown for cell in standing.cells[:COLUMNS]]
    samples = samples_words(row.samples, row.images)
    return _line([f"*{label}*" if row.is_paper else label, *cells, samples, str(row.seeds or "–")])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def filled(page: str, results: Sequence[Result]) -> str:
    """Return the page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{README.name}: the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{make_table(results)}\n\n{END}{after}"


def main() -> None:
    """Write the table into the README."""
    page = filled(README.read_text("utf-8"), read_results(ROOT / "results"))
    README.write_text(page, "utf-8")
    print(f"{README.name}: written")


if __name__ == "__main__":
    main()
