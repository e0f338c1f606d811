"""The panel shows what `%steps` shows, and its buttons do what the commands do."""

import pytest
from real_kernel import LOAD

from nbresume.ui.ipython.steps import Face, panel_of
from nbresume.ui.widget import fallback

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
    assert "1 of 1 steps locked" in shown._head.value
    assert "a" in press(shown, "History")
    assert "every digest holds" in press(shown, "Verify")


def hows(shown):
    """Return the words of the ways out that the form offers."""
    return [label for label, _ in shown._way.options]


def choose(shown, how, because=""):
    """Choose a way out and give a reason."""
    shown._way.value, shown._because.value = hows(shown).index(how), because


def test_the_form_never_chooses(in_doubt):
    """Nothing is recorded until a person chose and gave a reason."""
    shown = panel(in_doubt)
    assert shown._form.layout.display == "flex"
    assert list(shown._step.options) == ["mail"]
    assert shown._way.value is None
    # what they mean stands above: a choice is one line high
    assert "<b>retry</b>: It did not happen outside" in shown._meant.value
    assert hows(shown) == ["retry", "evidence", "abandon"]
    assert "it declared --effects" in shown._known.value
    before = in_doubt.hashes()
    assert "Choose what is to be done" in press(shown, "Decide")
    choose(shown, "retry")
    assert "the record has to say why" in press(shown, "Decide")
    assert in_doubt.hashes() == before


def test_a_decision_is_recorded_and_shown(in_doubt):
    """With the reason, and what the person was told; then the form goes."""
    shown = panel(in_doubt)
    choose(shown, "retry", "nothing was sent")
    told = press(shown, "Decide")
    assert "step mail is settled: retry (nothing was sent)" in told
    assert "on record: it declared --effects" in told
    assert shown._form.layout.display == "none"
    assert in_doubt.kinds()[-1] == "resolution"


def test_an_open_effect_is_decided_about_by_itself(bare):
    """It has a way out of its own."""
    step = "%%step mail\nfrom nbresume import effect\neffect('to a', ask)"
    bare.save(LOAD, step)
    bare.load()
    bare.ip.user_ns["ask"] = lambda: 1 / 0
    bare.run(step)
    shown = panel(bare)
    one = "evidence for the effect 'to a'"
    assert hows(shown) == ["retry", "evidence", "abandon", one]
    assert "The effect &#x27;to a&#x27; did happen" in shown._meant.value
    shown._way.value, shown._because.value = 3, "received"
    assert "of step mail is done (received)" in press(shown, "Decide")


def test_a_locked_step_that_is_stale_is_unlocked(bare):
    """Its way out is `rerun`, with a reason."""
    step = "%%step a --effects\nx = 1"
    bare.save(LOAD, step)
    bare.load()
    assert bare.run(step).ok
    bare.save(LOAD, step.replace("1", "2"))
    shown = panel(bare)
    assert hows(shown) == ["rerun"]
    choose(shown, "rerun")
    assert "it acts on the outside" in press(shown, "Decide")
    choose(shown, "rerun", "it was wrong")
    assert "will run when its cell is run" in press(shown, "Decide")
    assert shown._form.layout.display == "none"


def test_words_and_order_are_those_of_the_sidebar(in_doubt):
    """Restore only, Plan; the resume point set apart; steps that are gone, last."""
    shown = panel(in_doubt)
    labels = list(shown._buttons)
    assert labels[:2] == ["Restore only", "Plan"]
    table = shown._table.value
    assert table.index("Stopped here") < table.index(">mail<")
    in_doubt.save(LOAD, STEP)
    press(shown, "Look again")
    table = shown._table.value
    assert table.index(">mail<") < table.index("No longer in the notebook")
    assert table.index("No longer in the notebook") < table.index(">a<")


def test_the_history_is_told_newest_first(in_doubt):
    """As the sidebar lists it."""
    told = press(panel(in_doubt), "History")
    revisions = [line.split()[0] for line in told.splitlines()[1:]]
    numbers = [int(r) for r in revisions if r.isdigit()]

    assert numbers == sorted(numbers, reverse=True)


def test_the_fallback_says_the_same(in_doubt):
    """A saved notebook shows the step in doubt and what settles it."""
    shown = panel(in_doubt)
    for words in ("ambiguous (in doubt)", "%steps resolve mail retry"):
        assert words in shown._table.value
        assert words in fallback(shown._view())["text/plain"]
