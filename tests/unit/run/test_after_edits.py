"""What an edit and its undoing must not leave behind, or tear apart."""

import pytest
from unit.run.fakes import Lab

CLASS = (
    "%%step a\nclass A:\n    n = 5\n    def pay(self, n):\n        self.n = self.n - n"
)


def test_an_undone_edit_takes_its_names_along():
    """The commit that counts again does not have them."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = 1\ny = [2]")
    k.go()
    assert k["y"] == [2]
    lab.edit(a="%%step a\nx = 1")

    assert k.go() == []
    assert "y" not in k.namespace


def test_a_failed_edit_that_is_undone_leaves_nothing():
    """The commit is replayed, and what the attempt had bound is gone."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nz = 3\n1 / 0")
    assert k.run("a").how == "failed"
    lab.edit(a="%%step a\nx = 1")

    assert k.go() == []
    assert "z" not in k.namespace


def test_a_name_that_stood_above_is_back():
    """The undone edit had set a name of a step above."""
    lab = Lab(a="%%step a\nx = [1]", b="%%step b\ny = 2")
    k = lab.kernel()
    k.go()
    lab.edit(b="%%step b\ny = 2\nx = [3]")
    k.go()
    lab.edit(b="%%step b\ny = 2")

    assert k.go() == []
    assert k["x"] == [1]


@pytest.mark.parametrize("restarts", [False, True])
def test_an_equal_change_in_place_keeps_what_holds_the_object(restarts):
    """A step below is replayed, and holds the very object that the step changed."""
    lab = Lab(
        a=CLASS,
        b="%%step b\none = A()",
        c="%%step c\none.pay(3)",
        d="%%step d\nall_ = [one]",
    )
    k = lab.kernel()
    k.go()
    lab.edit(c="%%step c\none.pay(2)\none.pay(1)")
    k = k.restart() if restarts else k

    assert k.go() == ["c"]
    assert k["all_"][0] is k["one"]
    k = k.restart()
    assert k.go() == []
    assert k["all_"][0] is k["one"]
    assert type(k["one"]) is k["A"]


ENUM = "import enum\nclass Color(enum.Enum):\n    RED = 1\nk = {}"


def test_a_class_made_anew_reaches_what_was_changed_in_place():
    """Values that wait are bound around the plain cell's present class."""
    lab = Lab(
        p=ENUM.format(0),
        a="%%step a\nboxes = [[Color.RED]]",
        b="%%step b\nboxes.append(1)",
        c="%%step c\nis_red = boxes[0][0] is Color.RED, k",
    )
    k = lab.kernel()
    k.go()
    lab.edit(p=ENUM.format(1))

    assert k.go() == ["c"]
    assert k["is_red"] == (True, 1)


def test_a_class_made_anew_reaches_all_that_hold_it():
    """Not only the first value that is looked at, nor only one that waits."""
    lab = Lab(
        p=ENUM.format(0),
        a="%%step a\nclass Box:\n    c = Color.RED",
        b="%%step b\nboxes = [Box()]",
        c="%%step c\nred = [Color.RED]",
        d="%%step d\nis_red = boxes[0].c is Box.c is red[0] is Color.RED, k",
    )
    k = lab.kernel()
    k.go()
    for n in (1, 2, 3):
        lab.edit(p=ENUM.format(n))
        k.go()
        k.parts.live.load_all(list(k.parts.live.pending))

        assert k["is_red"] == (True, n)
        assert type(k["boxes"][0]) is k["Box"]


VIEWS = {
    "p": "import numpy as np",
    "a": "%%step a\nbase = np.arange(12.0)",
    "b": "%%step b\ngrid = base.reshape(3, 4)",
    "c": "%%step c\nrow = grid[1]",
    "d": "%%step d\nrow *= 10",
    "e": "%%step e\ntotal = base.sum()",
}


def test_a_change_through_a_view_reaches_what_waits():
    """In a new kernel the array that the view shows is loaded with it."""
    lab = Lab(**VIEWS)
    lab.kernel().go()
    lab.edit(d="%%step d\nrow *= 11")
    k = lab.kernel()

    assert k.go() == ["d", "e"]
    assert k["total"] == 286.0
    assert k["base"][4] == k["grid"][1, 0] == k["row"][0] == 44.0


def test_a_view_shows_its_array_after_an_edit_that_failed():
    """The array was let go meanwhile, its views were not."""
    lab = Lab(**VIEWS)
    lab.kernel().go()
    k = lab.kernel()
    k.go()
    k.parts.live.load_all(list(k.parts.live.pending))
    lab.edit(a="%%step a\nbase = np.arange(13.0)")
    k.run("a")
    lab.edit(a=VIEWS["a"])

    assert k.go() == []
    k["base"][4] = 7
    assert k["grid"][1, 0] == k["row"][0] == 7
