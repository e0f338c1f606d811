"""The command line: in this process for what only reads, as a child for runs."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from nbresume.ui.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Return everything that it printed."""
        return self.out + self.err


@pytest.fixture
def nbresume(monkeypatch):
    """Return what runs a command in this process, as the console script does."""

    def command(*words) -> Done:
        monkeypatch.setattr(sys, "argv", ["nbresume", *map(str, words)])
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
        done = Done(code, out.getvalue(), err.getvalue())
        assert "Traceback" not in done.said
        return done

    return command


def child(*words, env=None, cwd=None, check=True) -> Done:
    """Run a command as a child process."""
    done = subprocess.run(
        [sys.executable, "-m", "nbresume", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=120,
    )
    if check:
        assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def in_child():
    """Return what runs a command as a child process."""
    return child
