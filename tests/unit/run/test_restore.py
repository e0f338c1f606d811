"""Rule R4: values back into the namespace, whole or not at all."""

import colorsys

import pytest
from unit.run.fakes import Lab

from nbresume.errors import RefusedError
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer


def test_a_value_that_cannot_be_rebuilt_fails_alone():
    """It is found out when it is needed; then its step runs again."""
    lab = Lab(a="%%step a\nfirst = [1]\nz = [2]\nclass C:\n    pass\nc = C()")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    k = k.restart()
    manifest = k.parts.restorer.manifest(k.commits("a").manifest)
    unit = manifest.units[manifest.names["z"].target]
    place = manifest.payloads[unit.stream]
    for key in [key for key in lab.backend.files if f"/{group}/pack/c" in key]:
        data = bytearray(lab.backend.files[key])
        data[place.offset] ^= 1
        lab.backend.files[key] = bytes(data)

    assert k.go() == []
    with pytest.raises(RefusedError, match="Run step a again"):
        k["z"]
    assert k["first"] == [1]
    assert "z" not in k
    assert k.go() == ["a"]
    assert "step a is damaged" in "\n".join(k.screen.said)
    assert k["z"] == [2]


def test_a_name_that_is_right_keeps_its_object():
    """Replaying in the kernel that has the values binds nothing anew."""
    lab = Lab(a="%%step a\nL = [1]\nn = 1\nimport json\nfrom json import dumps")
    k = lab.kernel()
    k.go()
    before = k["L"]

    assert k.go() == []
    assert k["L"] is before


def test_what_holds_a_plain_cells_object_holds_the_present_one():
    """Run All makes the class again; instances are bound around it."""
    lab = Lab(
        p="class P:\n    pass\ncfg = {'k': [1]}",
        a="%%step a\npt = P()\nbox = {'c': cfg}\nboth = [pt, box]",
    )
    k = lab.kernel()
    k.go()
    for _ in range(2):
        assert k.go() == []
        assert type(k["pt"]) is k["P"]
        assert k["box"]["c"] is k["cfg"]
        assert k["both"][0] is k["pt"]
        assert k["both"][1] is k["box"]


def test_a_changed_class_makes_its_instances_anew():
    """The step runs: its input is another one."""
    lab = Lab(
        p="class P:\n    def two(self):\n        return 2",
        a="%%step a\npt = P()",
    )
    k = lab.kernel()
    k.go()
    lab.edit(p="class P:\n    def two(self):\n        return 3")

    assert k.go() == ["a"]
    assert k["pt"].two() == 3


def test_a_plain_object_inside_a_steps_value_is_one_object():
    """Through a restart and an in-place change by a later step."""
    lab = Lab(
        p="cfg = {'k': [1]}",
        s="%%step s\nbox = {'c': cfg, 'n': 1}",
        t="%%step t\ncfg['k'].append(2)",
        u="%%step u\nm = box['c']['k'][-1]",
    )
    k = lab.kernel()
    k.go()
    for _ in range(2):
        k = k.restart()
        assert k.go() == []
        assert k["box"]["c"] is k["cfg"]
        assert k["box"]["c"]["k"] == [1, 2]
        assert k.go() == []
        assert k["box"]["c"] is k["cfg"]


def test_without_its_plain_cell_the_copy_is_used():
    """A commit holds a copy of what belongs to a plain cell, as a fall-back."""
    lab = Lab(p="cfg = {'k': [1]}", s="%%step s\nbox = {'c': cfg}")
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go("s") == []
    assert k["box"] == {"c": {"k": [1]}}
    assert k["cfg"] is k["box"]["c"]


def test_circles_come_back():
    """Names that hold each other."""
    lab = Lab(a="%%step a\nu = []\nv = [u]\nu.append(v)")
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go() == []
    assert k["u"][0] is k["v"]
    assert k["v"][0] is k["u"]
    assert k.go() == []


def test_an_imported_function_is_imported_again():
    """It is no payload."""
    lab = Lab(a="%%step a\nfrom json import dumps\nimport json as j")
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go() == []
    assert k["dumps"] is k["j"].dumps


def test_an_output_that_is_imported_from_nowhere_runs_the_step(monkeypatch):
    """Whoever needs it is told why it cannot be."""
    lab = Lab(a="%%step a\nfrom colorsys import rgb_to_hls as f\nx = 1")
    k = lab.kernel()
    k.go()
    k = k.restart()
    with monkeypatch.context() as patch:
        patch.delattr(colorsys, "rgb_to_hls")
        assert k.go("a") == []
        with pytest.raises(RefusedError, match="rgb_to_hls"):
            k["f"]
        assert k.go("a") == ["a"]

    assert "step a is damaged" in "\n".join(k.screen.said)
    assert k.last.how == "failed"
    assert k.restart().go() == []


def test_a_step_settled_by_evidence_has_nothing_to_restore():
    """No payload is looked for."""
    lab = Lab(m="%%step m --effects\ndie()")
    lab.kernel().go()
    k = lab.kernel()
    k.parts.recovery.resolve("m", Answer(How.EVIDENCE, "seen"))

    assert k.go() == []
    assert k.parts.restorer.damage(k.commits("m")) == ""
    assert k.parts.restorer.outputs(k.commits("m")) == []
    assert k.state("m") is State.COMMITTED


def test_a_manifest_is_read_once():
    """Replaying again reads no payload of what is alive."""
    lab = Lab(a="%%step a\nL = [1]")
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.go()
    lab.backend.operations.clear()
    k.go()

    read = [key for op, key in lab.backend.operations if op == "read_into"]
    assert read == []
