"""The layers hold, and modules and functions stay small enough to be read."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kernel_ext" / "nbresume"
MODULES = sorted(PACKAGE.rglob("*.py"))
MODULE_LINES = 400
FUNCTION_LINES = 60
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


def test_the_layers_hold():
    """No module imports what stands above it; import-linter says which one does."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_is_small(path):
    """A module that grows is split."""
    assert len(path.read_text().splitlines()) <= MODULE_LINES


def test_functions_are_small():
    """A function fits on a screen."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds) and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]

    assert long == []


def test_a_module_says_what_it_is_for():
    """No module is a drawer for what had no place."""
    assert [path for path in MODULES if path.stem in NO_NAMES] == []


def test_every_module_has_a_docstring():
    """A module says its purpose in its first line."""
    silent = [p for p in MODULES if not ast.get_docstring(ast.parse(p.read_text()))]

    assert silent == []
