"""The routes say what the command says, whatever the kernel does."""

import json
import shutil
import subprocess
import sys
import time

import pytest
from real_kernel import LOAD, Kernel, hashes, save

from nbresume.run.view import RunView

pytestmark = pytest.mark.kernel

A = "%%step a\nx = [1, 2]"
SLOW = "%%step b\nimport time\ntime.sleep(60)"


def path_of(folder, name="nb.ipynb"):
    """Return a notebook's path as the server's clients write it."""
    return f"{folder.name}/{name}"


def states(answer):
    """Return step → state of an answer, which has to be a RunView."""
    view = RunView.from_json(answer.body)
    return {step.name: str(step.state) for step in view.steps}


def printed(command, notebook, *more):
    """Return what the command line prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "nbresume", command, str(notebook), *more, "--json"],
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def without_age(view):
    """Return a view without the one number that grows while nothing happens."""
    return view | {"metrics": view["metrics"] | {"resume_age_s": None}}


def test_the_run_is_that_of_the_command(server, in_doubt):
    """With no kernel, the route gives what `nbresume status --json` prints."""
    folder = in_doubt
    before = hashes(folder / ".nbresume")

    answer = server.get("nbresume/run", path=path_of(folder))
    trail = server.get("nbresume/history", path=path_of(folder))

    assert answer.status == 200
    assert without_age(answer.json) == without_age(
        printed("status", folder / "nb.ipynb")
    )
    assert states(answer) == {"a": "COMMITTED", "c": "AMBIGUOUS"}
    assert trail.json == printed("history", folder / "nb.ipynb")
    assert hashes(folder / ".nbresume") == before


def test_the_other_routes_are_those_of_the_commands(server, in_doubt):
    """Plan, explain and inspect; nothing is loaded or written for them."""
    notebook, path = in_doubt / "nb.ipynb", path_of(in_doubt)
    before = hashes(in_doubt / ".nbresume")
    plan = server.get("nbresume/plan", path=path)
    why = server.get("nbresume/explain", path=path, step="c")
    step = server.get("nbresume/step", path=path, step="a")
    one = server.get("nbresume/history", path=path, step="a")

    assert plan.json == printed("plan", notebook)
    assert why.json == printed("explain", notebook, "c")
    assert step.json == printed("inspect", notebook, "a")
    assert step.json["outputs"][0]["preview"] == {"text/plain": "[1, 2]"}
    assert {event["step"] for event in one.json} == {"a"}
    assert hashes(in_doubt / ".nbresume") == before


@pytest.mark.parametrize("route", ["step", "explain"])
def test_a_step_that_is_not_there_is_refused(server, in_doubt, route):
    """A sentence says so; 204 would say that there is no run."""
    answer = server.get(f"nbresume/{route}", path=path_of(in_doubt), step="nowhere")

    assert answer.status == 409
    assert answer.json["kind"] == "not-committed"
    assert answer.json["remedy"]


def test_a_busy_kernel_is_not_asked(server, folder):
    """While a step runs, the route answers at once, from the store."""
    save(folder / "nb.ipynb", LOAD, A, SLOW)
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
        kernel.send(SLOW, "c2")
        end = time.monotonic() + 30
        while (found := states(server.get("nbresume/run", path=path_of(folder)))) != {
            "a": "COMMITTED",
            "b": "RUNNING",
        }:
            assert time.monotonic() < end, found
            time.sleep(0.1)
        kernel.process.kill()


def test_a_notebook_without_a_store_has_no_run(server, folder):
    """Nothing was run yet: that is an answer, not an error; nothing is made."""
    save(folder / "nb.ipynb", LOAD, A)

    answer = server.get("nbresume/run", path=path_of(folder))

    assert (answer.status, answer.body) == (204, b"")
    assert [p.name for p in folder.iterdir()] == ["nb.ipynb"]


def test_a_bad_store_is_refused_with_what_to_do(server, folder):
    """A store of a later release: what, why, what to do; and no change."""
    save(folder / "nb.ipynb", LOAD, A)
    (folder / ".nbresume").mkdir()
    (folder / ".nbresume" / "store.json").write_text('{"format": 99}')

    answer = server.get("nbresume/run", path=path_of(folder))

    assert answer.status == 409
    assert set(answer.json) == {"kind", "message", "because", "remedy"}
    assert answer.json["remedy"]


def test_a_stranger_is_refused(server, folder):
    """Without the token nothing is told, of no route."""
    save(folder / "nb.ipynb", LOAD, A)
    path = path_of(folder)

    for route in ("run", "history", "plan", "explain", "step"):
        answer = server.get(f"nbresume/{route}", as_stranger=True, path=path, step="a")
        assert answer.status == 403


@pytest.mark.parametrize("way", ["up", "absolute", "link", "hidden", "missing"])
def test_paths_stay_in_the_root(server, folder, tmp_path, way):
    """What the server does not show is not looked at, however it is named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    save(outside / "nb.ipynb", LOAD, A)
    (folder / "link").symlink_to(outside)
    (folder / ".hidden").mkdir()
    shutil.copy(outside / "nb.ipynb", folder / ".hidden" / "nb.ipynb")
    up = "../" * len(server.root.parts)
    path = {
        "up": f"{up}{outside}/nb.ipynb",
        "absolute": f"{outside}/nb.ipynb",
        "link": f"{folder.name}/link/nb.ipynb",
        "hidden": f"{folder.name}/.hidden/nb.ipynb",
        "missing": f"{folder.name}/none.ipynb",
    }[way]

    answer = server.get("nbresume/run", path=path)

    assert answer.status == 404
    assert answer.json["because"] == "the server shows no such file"
