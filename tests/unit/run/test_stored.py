"""What a step stored is shown without a kernel, and nothing is rebuilt for it."""

import pytest
from unit.run.fakes import Lab

from nbresume.errors import Damaged, NotCommitted, NotTrusted
from nbresume.model.displays import Display, Stream
from nbresume.model.values import How
from nbresume.run import stored as module
from nbresume.run.recovery import Answer
from nbresume.run.stored import stored
from nbresume.store.trust import Trust

A = (
    "%%step a\nimport numpy as np\nx = np.zeros((200_000,))\ny = [1, 2]\n"
    "z = (n for n in 'ab')"
)


def committed(source=A, shown=()):
    """Return a kernel in which step a is committed, having shown this."""
    lab = Lab(a=source)
    k = lab.kernel()
    stop = k.world.screen.stop
    k.world.screen.stop = lambda: [*stop(), *shown]
    k.go()
    return k


def details(k, step="a"):
    """Return what a step stored, as a server asks."""
    return k.lab.inspect(k.run_id).stored(step)


def test_names_kinds_shapes_sizes_and_previews_are_told():
    """Also of what could not be kept."""
    told = details(committed())
    found = {output.name: output for output in told.outputs}

    assert (told.step, told.commit_number, told.code) == ("a", 1, A)
    assert (found["x"].kind, found["x"].dtype) == ("numpy.ndarray", "float64")
    assert found["x"].shape == [200_000]
    assert found["x"].size_bytes >= 1_600_000
    assert found["x"].preview["text/plain"].startswith("float64, 200000\n0.0, 0.0")
    assert found["y"].preview == {"text/plain": "[1, 2]"}
    assert found["z"].not_kept
    assert found["z"].preview == {}


def test_nothing_is_unpickled(monkeypatch):
    """The whole way, from the notebook to the details."""
    k = committed()

    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr("nbresume.run.restore.rebuild", never)
    monkeypatch.setattr("nbresume.run.restore.rebuild_atoms", never)
    monkeypatch.setattr("pickle.loads", never)
    monkeypatch.setattr("pickle.Unpickler", never)

    assert details(k).outputs


def test_displays_are_shown_up_to_a_size():
    """Streams as a front end shows them; too large ones are counted."""
    shown = [
        Stream(name="stdout", text="10%\r100%\n"),
        Display(data={"text/html": "<b>x</b>", "text/plain": "x"}),
        Display(data={"image/png": "A" * (module.BUNDLE_LIMIT + 1)}),
        Display(data={"application/json": {"a": 1}}),
        Display(data={"image/png": "B" * 9, "text/plain": "y" * 50_000}),
    ]
    told = details(committed("%%step a\nx = 1", shown))

    assert told.shown[0] == {"text/plain": "100%\n"}
    assert told.shown[1] == {"text/html": "<b>x</b>", "text/plain": "x"}
    assert told.shown[2]["image/png"] == "B" * 9
    assert len(told.shown[2]["text/plain"]) == module.TEXT_LIMIT + 1
    assert told.shown_left_out == 2


def test_a_figure_is_previewed_by_what_the_step_showed():
    """The picture is stored already."""
    image = Display(data={"image/png": "B" * 9, "text/plain": "<Figure>"})
    source = "%%step a\nfrom matplotlib.figure import Figure\nfig = Figure()"
    told = details(committed(source, [image]))
    found = {output.name: output for output in told.outputs}

    assert found["fig"].preview == {"image/png": "B" * 9}


def test_a_repr_that_fails_breaks_no_commit():
    """It is never called."""
    source = (
        "%%step a\nclass Loud:\n    def __repr__(self): raise RuntimeError\n"
        "loud = Loud()\nbox = [loud]"
    )
    told = details(committed(source))
    found = {output.name: output for output in told.outputs}

    assert found["loud"].preview == {}
    assert found["box"].preview == {"text/plain": "[<Loud>]"}


def test_evidence_has_no_names_to_show():
    """A person said that it happened; values were not given."""
    lab = Lab(m="%%step m --effects\ndie()\nsent = 1")
    lab.kernel().go()
    k = lab.kernel()
    k.parts.recovery.resolve("m", Answer(How.EVIDENCE, "seen", names_not_kept=["sent"]))
    told = details(k, "m")

    assert [(o.name, bool(o.not_kept)) for o in told.outputs] == [("sent", True)]
    assert (told.code, told.shown) == ("", [])


def test_what_cannot_be_shown_is_refused():
    """No commit, another's key, or damage: a sentence with what to do."""
    k = committed()
    with pytest.raises(NotCommitted, match="has no commit"):
        stored(k.journal, "b", trusted=True)
    pack = next(
        key
        for key in k.lab.backend.files
        if key.endswith("pack/c.0") and "/a" not in key
    )
    kept = k.lab.backend.files[pack]
    k.lab.backend.files[pack] = b"\0" * len(kept)
    with pytest.raises(Damaged):
        details(k)
    k.lab.backend.files[pack] = kept
    k.lab.trust = Trust(b"o" * 32)
    with pytest.raises(NotTrusted, match="another key"):
        details(k)


def test_previews_cost_no_file_of_their_own():
    """They lie in the pack that is written anyway."""
    with_one = committed("%%step a\nx = 1")
    without = committed("%%step a\nimport os")

    assert details(with_one).outputs[0].preview == {"text/plain": "1"}
    assert len(with_one.lab.backend.files) == len(without.lab.backend.files)
