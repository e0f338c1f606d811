"""The cells that all tools run do what is said beside them."""

import ast

import pytest
from peers.catalog import ADAPTERS, WORKLOADS
from peers.curves import CURVES, slope
from peers.replays import Marimo
from peers.workloads import Cell

SCALE = 0.001


def played(work):
    """Run the cells of a workload in a namespace of their own, and return it."""
    names = {"__name__": "__main__"}
    cells = [Cell("preamble", work.preamble), *work.cells, Cell("after", work.after)]
    for cell in cells:
        exec(compile(cell.code, cell.name, "exec"), names)  # noqa: S102 - our cells
    return names


@pytest.mark.parametrize("name", WORKLOADS)
def test_cells_run_and_probes_are_true(name, tmp_path, monkeypatch):
    """In the kernel that ran the cells, values are there and each probe is true."""
    monkeypatch.chdir(tmp_path)
    work = WORKLOADS[name](SCALE)

    names = played(work)

    for value in work.values:
        assert eval(value, names) is not None  # noqa: S307 - our own expressions
    for probe in work.probes.values():
        assert eval(probe, names), probe  # noqa: S307 - the same


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_cell_writes_is_there(name, tmp_path, monkeypatch):
    """The names beside a cell are bound by it, and those it reads by cells before."""
    monkeypatch.chdir(tmp_path)
    work = WORKLOADS[name](SCALE)
    names = {"__name__": "__main__"}
    exec(work.preamble, names)  # noqa: S102 - our cells

    for cell in work.cells:
        assert set(cell.reads) <= set(names)
        exec(cell.code, names)  # noqa: S102 - the same
        assert set(cell.writes) <= set(names)


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "nbresume"])
def test_every_cell_of_every_tool_is_python(name, tmp_path):
    """What a tool makes of a cell can be compiled, before a kernel sees it."""
    for make in WORKLOADS.values():
        adapter = ADAPTERS[name](tmp_path, make(SCALE))
        cells = [adapter.setup(), adapter.preamble(), adapter.arm(), *adapter.restore()]
        for cell in [*cells, *map(adapter.cell, adapter.work.cells)]:
            ast.parse(cell.code)


def test_the_app_is_python(tmp_path):
    """The app that marimo runs can be compiled."""
    adapter = Marimo(tmp_path, WORKLOADS["tiny"](SCALE))

    adapter.prepare()

    ast.parse((tmp_path / "bench_app.py").read_text())


def test_marimo_refuses_what_its_rules_forbid():
    """One name in two cells, or changed in another one, is not for marimo."""
    refused = {name for name in WORKLOADS if Marimo.refuses(WORKLOADS[name](SCALE))}

    assert refused == {"big", "wide", "soup", "mixed", "semantics"}


@pytest.mark.parametrize("curve", CURVES.values(), ids=lambda curve: curve.name)
def test_a_curve_grows(curve):
    """Each point of a curve is a workload whose cells run."""
    work = curve.work(curve.sizes[0])

    assert played(work)
    assert set(curve.measures)


def test_a_slope_is_the_price_of_one_more():
    """The slope is told for one step, one name, one megabyte."""
    assert slope([(10, 5.0), (20, 10.0), (30, 15.0)]) == pytest.approx(0.5)
