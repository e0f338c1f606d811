"""An equal output keeps its object id, unless something else shares its data."""

from unit.run.fakes import Lab

from nbresume.run.sameness import keep_object_ids


def outputs_after(edited, **cells):
    """Return the kernel and the outputs of step a before and after its edit."""
    lab = Lab(**cells)
    k = lab.kernel()
    k.go()
    before = k.commits("a").outputs
    lab.edit(a=edited)
    k.go()
    return k, before, k.commits("a").outputs


def test_an_equal_output_keeps_its_object():
    """Holders below hold the new one, in this kernel and in a fresh one."""
    k, before, after = outputs_after(
        "%%step a\nL = list((1,))", a="%%step a\nL = [1]", b="%%step b\nd = {'x': L}"
    )

    assert after == before
    assert k["d"]["x"] is k["L"]
    k = k.restart()
    assert k.go() == []
    assert k["d"]["x"] is k["L"]


def test_a_changed_output_is_another_object():
    """Its version differs."""
    _, before, after = outputs_after("%%step a\nL = [2]", a="%%step a\nL = [1]")

    assert before["L"].version != after["L"].version
    assert before["L"].object != after["L"].object


def test_an_output_that_another_name_shares_gets_a_new_object():
    """Which of the two is meant cannot be told from outside."""
    _, before, after = outputs_after(
        "%%step a\nL = list((1,))\nM = L", a="%%step a\nL = [1]\nM = L"
    )

    assert before["L"].version == after["L"].version
    assert after["L"].object == after["M"].object != before["L"].object


def test_an_output_that_no_longer_shares_gets_a_new_object():
    """The former object belonged to both names."""
    _, before, after = outputs_after(
        "%%step a\nL = [1]\nM = [1]", a="%%step a\nL = [1]\nM = L"
    )

    assert before["L"].object not in (after["L"].object, after["M"].object)


def test_an_output_that_refers_to_another_one_gets_a_new_object():
    """Only objects that stand alone are swapped."""
    k, before, after = outputs_after(
        "%%step a\nL = list((1,))\nd = {'x': L}", a="%%step a\nL = [1]\nd = {'x': L}"
    )

    assert before["d"].object != after["d"].object
    assert k["d"]["x"] is k["L"]


def test_a_function_that_another_output_holds_keeps_its_new_object():
    """What holds it names it by its new id: else the commit could not be loaded."""
    cell = (
        "%%step a\ndef f():\n    return {}\ndef g():\n    return 2\n"
        "box = {{'f': f, 'g': g}}"
    )
    k, _, _ = outputs_after(cell.format(3), a=cell.format(1))
    k = k.restart()

    assert k.go() == []
    assert [k["box"][name]() for name in "fg"] == [3, 2]
    assert k["box"]["g"] is k["g"]


def test_atoms_have_no_object():
    """Numbers and texts are equal by value."""
    _, before, after = outputs_after("%%step a\nn = 2 - 1", a="%%step a\nn = 1")

    assert before["n"] == after["n"]
    assert after["n"].object == ""


def test_a_name_that_is_new_is_not_compared():
    """There is no former object."""
    _, _, after = outputs_after("%%step a\nL = [1]\nK = [1]", a="%%step a\nL = [1]")

    assert after["K"].object != after["L"].object


def test_a_former_commit_that_is_damaged_is_not_compared():
    """The new output is stored as a new object."""
    lab = Lab(a="%%step a\nL = [1]")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    before = k.commits("a").outputs["L"]
    for key in [key for key in lab.backend.files if f"/{group}/pack" in key]:
        lab.backend.files[key] = b""
    lab.edit(a="%%step a\nL = list((1,))")
    k = k.restart()

    assert k.go() == ["a"]
    assert k.commits("a").outputs["L"].version == before.version
    assert k["L"] == [1]
    assert k.restart().go() == []


def test_nothing_is_swapped_without_outputs():
    """An empty capture stays empty."""
    k, _, _ = outputs_after("%%step a\nL = [2]", a="%%step a\nL = [1]")
    record = k.commits("a")
    captured = k.parts.snapshot.take([])

    keep_object_ids(
        captured,
        previous=record,
        manifest=k.parts.restorer.manifest(record.manifest),
        above=[],
        live=k.parts.live,
        tables=[],
    )

    assert captured.outputs == {}
