"""Plain cells: what they make or change is ambient."""

from unit.run.fakes import Lab

from nbresume.capture.entries import Made


def entry(k, name):
    """Return what is known of a name."""
    return k.parts.live.entry(name)


def test_what_a_plain_cell_makes_is_ambient():
    """With the cell and the digest of its text."""
    k = Lab(p="x = [1]").kernel()
    k.go()

    assert entry(k, "x").made is Made.AMBIENT
    assert entry(k, "x").cell == "p"


def test_a_change_in_place_is_ambient_on_the_version_below_it():
    """Every name that reaches the object has changed."""
    k = Lab(a="%%step a\nL = [1]\nd = {'x': L}", p="L.append(2)").kernel()
    k.go()

    for name in ("L", "d"):
        assert entry(k, name).made is Made.AMBIENT
        assert entry(k, name).base_step == "a"
        assert entry(k, name).base_version == k.commits("a").outputs[name].version


def test_a_change_through_a_function_is_seen():
    """The closure of what the cell reads is looked at."""
    k = Lab(a="%%step a\nL = [1]", q="def add():\n    L.append(2)", p="add()").kernel()
    k.go()

    assert entry(k, "L").cell == "p"


def test_a_wild_cell_may_change_everything():
    """Every value is looked at."""
    k = Lab(a="%%step a\nL = [1]", p="exec('L' + '.append(2)')").kernel()
    k.go()

    assert entry(k, "L").cell == "p"


def test_reading_is_no_change():
    """A cell that only prints leaves a step's value as it is."""
    k = Lab(a="%%step a\nL = [1]", p="print(len(L))").kernel()
    k.go()

    assert entry(k, "L").made is Made.COMMITTED


def test_a_failed_plain_cell_counts():
    """What it did before it failed has happened."""
    k = Lab(p="x = 1\nraise ValueError").kernel()
    k.go()

    assert entry(k, "x").cell == "p"


def test_a_cell_that_cannot_be_parsed_did_nothing():
    """Nothing is marked, and the next cell is watched as ever."""
    lab = Lab(a="%%step a\nL = [1]", bad="def (", b="%%step b\nn = len(L)")
    k = lab.kernel()
    k.go("a", "bad", "b")

    assert entry(k, "L").made is Made.COMMITTED
    assert k.go("b") == ["b"]


def test_the_cell_that_loads_the_extension_is_watched():
    """What it makes after that line is its own."""
    k = Lab().kernel()
    k.namespace["before"] = 1
    k.session.plain.begin_unseen()
    k.namespace["after"] = 2
    k.session.plain.end(("setup", "text"), "")

    assert entry(k, "after").cell == "setup"
    assert entry(k, "before").cells == ()


def test_a_deleted_name_is_remembered():
    """With the cell that deleted it, until something binds it again."""
    lab = Lab(p="x = 1", q="del x", r="x = 2")
    k = lab.kernel()
    k.go("p", "q")
    assert k.parts.live.gone["x"][0] == "q"
    k.go("r")

    assert "x" not in k.parts.live.gone
