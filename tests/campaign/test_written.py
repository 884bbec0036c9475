"""Tables as people read them: short numbers, failures explained, signs of LaTeX escaped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from inertica.campaign.summary import FIGURES, Line, RowKey
from inertica.campaign.written import as_html, as_latex, cells
from inertica.cli.main import main


def _line(method: str, d_par: float, sd: float, failure: str = "") -> Line:
    place = RowKey("arm_1", "known", r"50 % \ {1e-3}", "normal", 0.0, 1, "none", method)
    mean, spread = dict.fromkeys(FIGURES, 0.01) | {"d_par": d_par}, dict.fromkeys(FIGURES, 0.001) | {"d_par": sd}
    return Line(place, mean, spread, (1, 2), 0.5, 0.95, 0.1, 1, failure)


def test_standard_deviations_have_no_exponents() -> None:
    shown = [cells(_line("ols", mean, sd))[3] for mean, sd in ((5.32, 0.17), (0.0189, 0.004), (0.5, 0.096))]
    assert shown == ["532±17", "1.89±0.4", "50±10"]


def test_failures_are_explained_on_the_page() -> None:
    page = as_html([_line("ols", 0.1, 0.0), _line("ml", 0.1, 0.0, "the first joint's <rows> do not move")])
    assert "<p>ml: 1 of 2 without an estimate; the first joint&#x27;s &lt;rows&gt; do not move</p>" in page


def test_signs_of_latex_are_escaped() -> None:
    assert r"\caption{arm\_1, noise 50 \% \textbackslash{} \{1e-3\}, decimation 1}" in as_latex([_line("ols", 0.1, 0.0)])


def test_a_misspelt_action_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "stats", "study"]) == 2
    assert "'stats' is no action; did you mean 'status'?" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("cupy") is not None, reason="this installation has CuPy")
def test_a_machine_without_a_card_leaves_no_folder_behind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["campaign", "state-quick", "-o", str(tmp_path / "study"), "--device", "cuda"]) == 1
    assert "needs the package cupy" in capsys.readouterr().err and not (tmp_path / "study").exists()
