"""The power-cut notebook in a real browser: somebody moves its sliders."""

import shutil
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.mark.long
def test_the_sliders_cut_the_power_elsewhere(lab, desk):
    """A move runs the experiment again; moved back, the figures are as before."""
    shutil.copytree(NOTEBOOKS / "lessons", lab.root / "lessons", dirs_exist_ok=True)
    cells = nbformat.read(NOTEBOOKS / "02_power_cut.ipynb", as_version=4).cells
    wanted = [cell.source for cell in cells if cell.id in ("set-up", "desk")]
    at = desk("power.ipynb", *wanted)
    at.run(0)
    at.run(1)
    shown = at.output(1)
    expect(shown).to_contain_text("The power went in ledger (answer lost).")
    expect(shown).to_contain_text("2 of 5 steps locked (reserve, charge)")
    expect(shown.get_by_role("img", name="Executions per step")).to_be_visible()
    first = figures(shown)
    shown.get_by_role("img").last.scroll_into_view_if_needed()
    at.shoot("power-cut")

    step = shown.get_by_role("slider").first
    step.focus()
    at.page.keyboard.press("ArrowRight")
    expect(shown).to_contain_text(
        "The power went in ship (answer lost).", timeout=90_000
    )
    expect(shown).to_contain_text("3 of 5 steps locked (reserve, charge, ledger)")
    assert figures(shown) != first

    step.focus()
    at.page.keyboard.press("ArrowLeft")
    expect(shown).to_contain_text(
        "The power went in ledger (answer lost).", timeout=90_000
    )
    assert figures(shown) == first


def figures(shown):
    """Return the texts of the three figures."""
    drawn = shown.get_by_role("img")
    expect(drawn).to_have_count(3)
    return drawn.all_inner_texts() and [one.inner_html() for one in drawn.all()]
