"""Training curves, in a result and in its picture."""

import json
import math
import xml.etree.ElementTree as xml
from pathlib import Path

from benchmark.results.curves import draw_curves, read_curve
from benchmark.training.log import training_curve
from benchmark.training.run_folder import RunFolder

SVG = "{http://www.w3.org/2000/svg}"


def logged(path: Path, steps: list[int]) -> RunFolder:
    lines = [json.dumps({"step": step, "loss": 1 / (k + 1)}) for k, step in enumerate(steps)]
    (path / "log.jsonl").write_text("\n".join(lines) + "\n")
    return RunFolder(path)


def test_what_was_logged_beyond_a_checkpoint_does_not_count(tmp_path: Path) -> None:
    # Killed after 7, resumed from 4, and ended at 6: nothing of the first 5, 6 and 7 stays.
    curve = training_curve(logged(tmp_path, [1, 3, 5, 6, 7, 5, 6]).log)
    assert [line["step"] for line in curve] == [1, 3, 5, 6]
    assert curve[-1]["loss"] == 1 / 7


def test_a_long_log_is_thinned_except_for_validation_losses(tmp_path: Path) -> None:
    folder = logged(tmp_path, list(range(1, 2001)))
    lines = [json.loads(line) for line in folder.log.read_text().splitlines()]
    lines[1234]["validation"] = 0.5
    folder.log.write_text("\n".join(map(json.dumps, lines)))
    curve = training_curve(folder.log)
    assert len(curve) < 300 and curve[-1]["step"] == 2000
    assert 1235 in {line["step"] for line in curve}


def test_each_run_has_a_chart_in_which_a_falling_loss_falls() -> None:
    falling = [{"step": k, "loss": 10.0 / k, "validation": 9.0 / k} for k in range(1, 11)]
    astray = [{"step": 1, "loss": math.nan}, {"step": 2, "loss": math.inf}]
    picture = draw_curves([read_curve("a <run>", falling), read_curve("astray", astray)])
    root = xml.fromstring(picture)
    charts = root.findall(f"{SVG}g")
    texts = ["".join(chart.itertext()) for chart in charts]
    assert "a <run>" in texts[0] and "no loss that is a number" in texts[1]
    lines = [p.get("d", "") for p in charts[0].findall(f"{SVG}path") if p.get("fill") == "none"]
    assert len(lines) == 2
    for line in lines:
        heights = [float(point.split()[1]) for point in line[1:].split("L")]
        assert len(heights) == 10 and heights == sorted(heights)  # y grows downwards
