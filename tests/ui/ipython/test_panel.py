"""The panel shows what `%steps` shows, and its buttons do what the commands do."""

import pytest
from real_kernel import LOAD

from nbresume.ui.ipython.steps import Face, panel_of

STEP = "%%step mail --effects\nif ask(): raise SystemExit\nsent = 1"


@pytest.fixture
def in_doubt(bare, monkeypatch):
    """Return a shell whose step with effects was cut off by another process."""
    bare.save(LOAD, "%%step a\nx = 1", STEP)
    bare.load()
    bare.ip.user_ns["ask"] = lambda: False
    assert bare.run("%%step a\nx = 1").ok
    session = bare.ip._nbresume.session
    # the kernel is cut off inside the body: no outcome is ever recorded
    monkeypatch.setattr(session.parts.commits, "fail", lambda *_: None)
    bare.ip.user_ns["ask"] = lambda: True
    bare.run(STEP)
    return bare


def panel(shell):
    """Return the panel of a shell."""
    extension = shell.ip._nbresume
    return panel_of(Face(extension.session, extension.pages))


def press(shown, label):
    """Press a button; return what is shown then."""
    shown._buttons[label].click()
    return shown._answer.value


def test_a_run_without_doubt_shows_no_form(shell):
    """There is nothing to decide."""
    shell.save(LOAD, "%%step a\nx = 1")
    assert shell.run("%%step a\nx = 1").ok
    shown = panel(shell)
    assert shown._form.layout.display == "none"
    assert "1 of 1 steps locked" in shown._table.value
    assert "a" in press(shown, "History")
    assert "every digest holds" in press(shown, "Verify")


def test_the_form_never_chooses(in_doubt):
    """Nothing is recorded until a person chose and gave a reason."""
    shown = panel(in_doubt)
    assert shown._form.layout.display == "flex"
    assert list(shown._step.options) == ["mail"]
    assert shown._how.value == ""
    before = in_doubt.hashes()
    assert "Choose how" in press(shown, "Settle")
    shown._how.value = "retry"
    assert "because" in press(shown, "Settle").lower()
    assert in_doubt.hashes() == before


def test_a_decision_is_recorded_and_shown(in_doubt):
    """With the reason, and what the person was told; then the form goes."""
    shown = panel(in_doubt)
    shown._how.value, shown._because.value = "retry", "nothing was sent"
    told = press(shown, "Settle")
    assert "step mail is settled: retry (nothing was sent)" in told
    assert "on record: it declared --effects" in told
    assert shown._form.layout.display == "none"
    assert in_doubt.kinds()[-1] == "resolution"


def test_the_fallback_says_the_same(in_doubt):
    """A saved notebook shows the step in doubt and what settles it."""
    shown = panel(in_doubt)
    for words in ("ambiguous (in doubt)", "%steps resolve mail retry"):
        assert words in shown._table.value
