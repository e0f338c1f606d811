"""Loading, loading again and unloading; notebooks that are missing, old or torn."""

import json

import pytest

from nbresume.errors import DuplicateName, NbresumeError, RefusedError
from nbresume.run.view import RunView
from nbresume.ui.ipython import marker

A = "%%step a\nx = 1"
B = "%%step b\ny = x + 1"


def order(shell):
    """Return where the order of the steps comes from, and the order."""
    view = RunView.from_json(shell.run("%steps --json", "v").text.encode())
    return view.order, [step.name for step in view.steps]


def fresh(shell):
    """Let the shell be as a kernel after a restart."""
    assert shell.run("%unload_ext nbresume", "u").ok
    shell.ip.reset()
    return shell.load()


def test_loading_twice_is_loading_once(shell):
    """A second `%load_ext` changes nothing; a step is committed once."""
    assert shell.run("%load_ext nbresume", "load").ok
    transforms = shell.ip.input_transformer_manager.cleanup_transforms

    assert shell.run(A, "c1").ok

    assert transforms.count(marker.strip_header) == 1
    assert shell.kinds() == ["claim", "intent", "committed"]


def test_reloading_goes_on_with_the_run(shell):
    """After `%reload_ext` the same run goes on and its steps replay."""
    assert shell.run(A, "c1").ok

    ran = shell.run("%reload_ext nbresume", "load")

    assert ran.ok, ran.text
    again = shell.run(A, "c1")
    assert "[restored]" in again.text, again.text
    assert shell.run(B, "c2").ok
    assert shell.kinds().count("committed") == 2


def test_a_notebook_with_other_steps_is_told(bare):
    """When it is loaded, in the table, and when the run is claimed; then no more."""
    bare.save("%load_ext nbresume", A)
    bare.load()
    assert bare.run(A, "c1").ok
    bare.save("%load_ext nbresume", A, B)
    told = "the steps are not those of the last claim: added b"

    loaded = fresh(bare)
    table = bare.run("%steps", "v")
    claimed = bare.run(B, "c2")
    after = bare.run("%steps", "v")

    assert told in loaded.text
    assert told in table.text
    assert told in claimed.text
    assert told not in after.text


def test_unloading_takes_everything_out(shell):
    """After `%unload_ext` cells are plain again, and loading works again."""
    assert shell.run(A, "c1").ok
    before = shell.hashes()
    assert shell.run("%unload_ext nbresume", "u").ok

    plain, step = shell.run("z = 1", "c3"), shell.run(B, "c2")
    listed = shell.run("%steps", "v")

    assert plain.ok
    assert "Cell magic `%%step` not found" in str(step.error)
    assert "Line magic function `%steps` not found" in str(listed.error)
    assert shell.hashes() == before
    assert shell.load().ok
    assert shell.run(B, "c2").ok


def test_unloading_what_is_not_loaded_is_harmless(bare):
    """`%unload_ext` before any load says so, and nothing breaks."""
    assert bare.run("%unload_ext nbresume", "u").ok
    bare.load()


def test_loading_restores_and_claims_nothing(shell):
    """A load after a restart shows the resume point and writes nothing."""
    assert shell.run(A, "c1").ok
    before = shell.hashes()

    ran = fresh(shell)

    assert "1 of 1 steps locked" in ran.text
    assert "x" not in shell.ip.user_ns
    assert shell.hashes() == before


# -- which run -------------------------------------------------------------------


def test_without_a_path_the_run_must_be_named(bare, monkeypatch):
    """A front end that tells no path is told how to name the run."""
    monkeypatch.delenv("JPY_SESSION_NAME")

    ran = bare.run("%load_ext nbresume", "load")

    assert isinstance(ran.error, RefusedError)
    assert "NBRESUME_RUN" in ran.error.remedy
    assert not bare.store.exists()


def test_a_named_run_needs_no_path(bare, monkeypatch):
    """With NBRESUME_RUN steps work without a path, and replay after a restart."""
    monkeypatch.delenv("JPY_SESSION_NAME")
    monkeypatch.setenv("NBRESUME_RUN", "")  # so that what is typed does not stay
    typed = "import os; os.environ['NBRESUME_RUN'] = 'my-run'"
    assert bare.run(typed, "n").ok
    bare.load()
    assert bare.run(A, None).ok

    fresh(bare)
    ran = bare.run(A, None)

    assert "[restored]" in ran.text, ran.text


def test_cells_without_ids_replay(bare):
    """A front end that sends no cell ids gets the same steps (plain clients)."""
    bare.save("%load_ext nbresume", A, B)
    bare.load()
    for code in (A, B):
        assert bare.run(code, None).ok

    fresh(bare)
    texts = [bare.run(code, None).text for code in (A, B)]

    assert all("[restored]" in text for text in texts)
    assert order(bare) == ("the saved notebook", ["a", "b"])


def test_a_twin_without_ids_is_refused(bare):
    """Without cell ids, a name used twice in the saved file is refused too."""
    bare.save("%load_ext nbresume", A, "%%step a\nother = 1")
    bare.load()
    assert bare.run(A, None).ok
    before = bare.hashes()

    ran = bare.run("%%step a\nother = 1", None)

    assert isinstance(ran.error, DuplicateName), ran.text
    assert bare.hashes() == before


def test_an_old_notebook_without_ids_works(bare):
    """A file of nbformat 4.4 has no cell ids: steps are known by name."""
    cells = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
        for text in ("%load_ext nbresume", A, "plain = 2", B)
    ]
    old = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
    (bare.folder / "main.ipynb").write_text(json.dumps(old))
    bare.load()
    for code, cell_id in ((A, "front-1"), ("plain = 2", "front-2"), (B, "front-3")):
        assert bare.run(code, cell_id).ok

    fresh(bare)
    text = bare.run(B, "other-3").text

    assert "[restored]" in text, text
    assert order(bare) == ("the saved notebook", ["a", "b"])


def test_a_twin_in_an_old_notebook_is_refused(bare):
    """A name used twice is refused in a file without cell ids too."""
    twin = "%%step a\nother = 1"
    cells = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
        for text in (A, twin)
    ]
    old = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
    (bare.folder / "main.ipynb").write_text(json.dumps(old))
    bare.load()
    assert bare.run(A, "front-1").ok

    ran = bare.run(twin, "front-2")

    assert isinstance(ran.error, DuplicateName), ran.text
    assert "other" not in bare.ip.user_ns


def test_an_unsaved_notebook_is_ordered_by_first_intents(shell):
    """Without a file the order is that in which the steps first ran."""
    for code, cell_id in ((B.replace("x", "0"), "c2"), (A, "c1")):
        assert shell.run(code, cell_id).ok

    assert order(shell) == ("the order in which steps first ran", ["b", "a"])


@pytest.mark.parametrize("text", ["", "{", '{"cells": 3}', "[]", "\x00"])
def test_a_torn_notebook_stops_nothing(bare, text):
    """A file that the front end is just writing does not stop a step."""
    (bare.folder / "main.ipynb").write_text(text)
    bare.load()

    assert bare.run(A, "c1").ok
    assert order(bare)[0] == "the order in which steps first ran"
    bare.save("%load_ext nbresume", A)
    assert order(bare)[0] == "the saved notebook"


def test_a_notebook_torn_later_keeps_the_known_order(bare):
    """A half-written save in between leaves the order as it was."""
    bare.save("%load_ext nbresume", A, B)
    bare.load()
    assert bare.run(A, "c1").ok
    (bare.folder / "main.ipynb").write_text('{"cells": [')

    assert bare.run(B, "c2").ok
    assert order(bare) == ("the saved notebook", ["a", "b"])


@pytest.mark.parametrize("text", ["abc", "1.5", "-1", "²"])
def test_a_setting_that_is_no_number_is_told(bare, monkeypatch, text):
    """A limit that cannot be understood is refused, not replaced by the default."""
    monkeypatch.setenv("NBRESUME_MAX_STEP_MB", text)

    ran = bare.run("%load_ext nbresume", "load")

    assert isinstance(ran.error, NbresumeError), ran.text
    assert "NBRESUME_MAX_STEP_MB" in str(ran.error)
    assert not bare.store.exists()


def test_a_policy_that_does_not_exist_is_told(bare, monkeypatch):
    """An unknown word is refused, not replaced by the default."""
    monkeypatch.setenv("NBRESUME_UNDECLARED", "perhaps")

    ran = bare.run("%load_ext nbresume", "load")

    assert isinstance(ran.error, NbresumeError), ran.text
    assert "the policy is one of evidence, refuse, rerun" in str(ran.error)


# -- stores that cannot be used ----------------------------------------------------


def test_a_file_where_the_store_should_be_is_told(bare):
    """A store folder that is a file is one clear error, and stays."""
    bare.store.write_text("mine")

    ran = bare.run("%load_ext nbresume", "load")

    assert isinstance(ran.error, NbresumeError)
    assert "it is a file" in str(ran.error)
    assert 'File "' not in ran.text
    assert bare.store.read_text() == "mine"


def test_a_newer_format_is_refused(shell):
    """A store of a later release is refused, and no byte of it changes."""
    assert shell.run(A, "c1").ok
    (shell.store / "store.json").write_text('{"format":2}')
    before = shell.hashes()

    ran = shell.run("%reload_ext nbresume", "load")

    assert isinstance(ran.error, NbresumeError)
    assert "format 2" in str(ran.error)
    assert shell.hashes() == before


def test_a_step_that_changes_a_plain_value_replays_without_a_file(shell):
    """Without a saved notebook a value of a plain cell is not taken from a step."""
    change = "%%step a\nk.append(2)"
    assert shell.run("k = [1]", "c1").ok
    assert shell.run(change, "c2").ok

    ran = shell.run(change, "c2")

    assert ran.ok, ran.text
    assert shell.ip.ev("k") == [1, 2]


def test_one_stream_for_both_is_recorded_once(shell):
    """A cell may send errors to where the output goes."""
    shell.run("%%step a\nimport sys\nprint('once')", "a")
    shown = shell.run("%%step a\nimport sys\nprint('once')", "a").text

    assert shown.count("once") == 1
