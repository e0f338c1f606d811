"""Without a browser the suite fails, and says what to type."""

import subprocess
import sys
from pathlib import Path

import chromium
import pytest


def on_path(*names):
    """Return a look-up by which only these programs exist."""
    return {name: f"/bin/{name}" for name in names}.get


def test_debians_browser_comes_first():
    """Of several browsers the system's own is taken."""
    which = on_path("google-chrome", "chromium-browser", "chromium")

    assert chromium.find_chromium({}, which) == "/bin/chromium"
    assert chromium.find_chromium({}, on_path("google-chrome")) == "/bin/google-chrome"


def test_a_named_browser_is_taken():
    """Who names a browser gets that one, or is told that it is none."""
    named = {"NBRESUME_CHROMIUM": "mine"}

    assert chromium.find_chromium(named, on_path("chromium", "mine")) == "/bin/mine"
    with pytest.raises(chromium.NoChromiumError, match="NBRESUME_CHROMIUM=mine is no"):
        chromium.find_chromium(named, on_path("chromium"))


def test_a_missing_browser_is_told_with_the_line_that_installs_it(tmp_path):
    """What `make test` prints then, and that it fails."""
    done = subprocess.run(
        [sys.executable, Path(chromium.__file__)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "apt-get install -y --no-install-recommends chromium" in done.stderr
    assert "NBRESUME_CHROMIUM" in done.stderr
