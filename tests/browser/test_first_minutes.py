"""What a new user forgets, in a real JupyterLab: the page says it, and mends it."""

import pytest
from playwright.sync_api import expect

STEP = "%%step first\nx = 1\nprint('x is', x)"


def toast(at):
    """Return what the page says of a step that IPython did not know."""
    told = "nbresume is not loaded in"
    return at.page.locator(".Toastify__toast", has_text=told)


def test_a_step_before_nbresume_is_loaded_is_offered_to_run(desk):
    """One click puts the cell that loads it first, runs it, and then the step."""
    at = desk("forgotten.ipynb", STEP, "print(x)")
    at.run(0)
    expect(at.output(0)).to_contain_text("Cell magic `%%step` not found")
    expect(toast(at)).to_contain_text("step first was not run")
    at.shoot("forgotten")

    toast(at).get_by_role("button", name="Load and Run").click()
    expect(at.output(1)).to_contain_text("x is 1")
    expect(at.cell(0).locator(".cm-content")).to_have_text("%load_ext nbresume")
    expect(toast(at)).to_have_count(0)
    at.expect_states(first="COMMITTED")


def test_a_name_that_is_missed_after_a_restart_is_offered_to_be_restored(desk):
    """One click loads nbresume and binds the name; the person runs the cell again."""
    at = desk("missed.ipynb", "%load_ext nbresume", STEP, "print('seen', x)")
    for place in range(3):
        at.run(place)
    at.save()
    at.menu("Kernel", "Restart Kernel")
    at.answer("Restart Kernel", "Restart")
    at.wait_idle()

    at.run(2)
    expect(toast(at)).to_contain_text("step first has committed x")
    at.shoot("missed")
    toast(at).get_by_role("button", name="Load and Restore").click()
    expect(at.prompt(0)).to_have_text("[2]:")
    expect(at.sidebar).to_contain_text("names are restored")
    at.run(2)
    expect(at.output(2)).to_have_text("seen 1")
    expect(toast(at)).to_have_count(0)


@pytest.mark.long
def test_the_offer_goes_when_another_cell_is_run(desk):
    """What was said of one run of a cell does not stand for ever."""
    at = desk("passing.ipynb", STEP, "1 + 1")
    at.run(0)
    expect(toast(at)).to_be_visible()
    at.run(1)
    expect(toast(at)).to_have_count(0)
