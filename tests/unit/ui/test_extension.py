"""The JupyterLab extension says what the package says."""

import json
import re
from pathlib import Path

import pytest

from nbresume import __version__
from nbresume.model.states import State
from nbresume.plan.auto import auto_name
from nbresume.plan.planner import Verdict
from nbresume.run.view import SCHEMA, RunView
from nbresume.ui.server import _jupyter_server_extension_points
from nbresume.ui.text import WORDS, origin_of

EXTENSION = Path(__file__).resolve().parents[3] / "extension"
LINES = 300


def source(name):
    """Return a source file of the extension."""
    return (EXTENSION / "src" / name).read_text(encoding="utf-8")


def test_the_version_is_the_same():
    """One release has one version."""
    package = json.loads((EXTENSION / "package.json").read_text())

    assert package["version"] == __version__


def test_states_and_plans_are_the_same():
    """The parser knows each state and plan, and no other."""
    text = source("runview.ts")
    lists = {
        name: re.findall(r"'([^']+)'", body)
        for name, body in re.findall(
            r"const (\w+) = \[(.*?)\] as const", text, re.DOTALL
        )
    }

    assert lists["STATES"] == [state.value for state in State]
    assert lists["PLANS"] == [verdict.value for verdict in Verdict]
    assert f"export const SCHEMA = {SCHEMA};" in text


@pytest.mark.parametrize("state", State)
def test_the_word_for_a_state_is_the_same(state):
    """The sidebar, the table and the panel call it by one word."""
    word = re.escape(WORDS[state])

    assert re.search(
        rf"case '{state}':\s+return trans\.__\('{word}'\)", source("words.ts")
    )


def test_a_step_without_a_header_has_the_same_name():
    """The page knows a cell's step before the file does, by the id of the cell."""
    found = re.search(r"const PLAIN_ID = /(.*)/;", source("cells.ts"))
    ids = ["c1", "0ba9e7d4-5c3f-4d16-9f51-aa0b6d3f6f0e", "a.b_c", "a" * 59]
    odd = ["Upper", "a b", "a" * 60, "ä", ""]

    assert found is not None
    assert [i for i in [*ids, *odd] if re.search(found[1], i)] == ids
    assert [auto_name(i) for i in ids] == [f"cell-{i}" for i in ids]


def test_the_origin_of_a_fork_is_told_in_the_same_words():
    """In the sidebar as under the headline of `%steps`."""
    path = EXTENSION.parent / "tests" / "data" / "runview" / "forked.json"
    told = origin_of(RunView.from_json(path.read_bytes()))
    words = re.search(r"'(a fork of run .*)',", source("sentences.ts"))
    origin = json.loads(path.read_text())["origin"]

    assert words is not None
    assert words[1].replace("%1", origin["run"]).replace("%2", origin["at"]) == told


def test_the_server_is_told_of_its_part():
    """The file that the wheel installs names the module that has the routes."""
    text = (EXTENSION / "server-config" / "nbresume.json").read_text()
    enabled = json.loads(text)["ServerApp"]["jpserver_extensions"]

    assert enabled == {
        point["module"]: True for point in _jupyter_server_extension_points()
    }


def test_the_lock_file_names_no_registry():
    """Where packages are fetched from is a setting of the machine."""
    assert "://" not in (EXTENSION / "yarn.lock").read_text()


def test_files_are_small():
    """A file of the extension that grows is split, and it is in the architecture."""
    files = [p for p in (EXTENSION / "src").iterdir() if p.is_file()]
    told = (EXTENSION.parent / "ARCHITECTURE.md").read_text()

    assert [p.name for p in files if len(p.read_text().splitlines()) > LINES] == []
    assert [p.name for p in files if f"`{p.name}`" not in told] == []
