"""`nbresume erase` and `gc`, on a run that a real kernel made."""

import json

import pytest
from real_kernel import LOAD, Kernel, save

pytestmark = pytest.mark.kernel

CANARY = "canary-77ab"
A = f"%%step a\nimport numpy as np\nsecret = '{CANARY}' * 100_000\nprint(secret[:11])"
B = "%%step b\nn = len(secret)"


def holding(folder):
    """Return the files of the store that hold the canary."""
    files = [p for p in (folder / ".nbresume").rglob("*") if p.is_file()]
    return [path for path in files if CANARY.encode() in path.read_bytes()]


def test_a_value_is_shown_then_erased(nbresume, tmp_path, monkeypatch):
    """Nothing goes without --yes; afterwards no byte holds it, and the step is told."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "nb.ipynb", LOAD, A, B)
    with Kernel(tmp_path, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, A, B)):
            kernel.ok(code, f"c{number}")
    assert holding(tmp_path)

    shown = nbresume("erase", "nb.ipynb", "secret")
    assert shown.code == 0, shown.said
    assert "without values: a" in shown.out
    assert "what they made of it stays: b" in shown.out
    assert holding(tmp_path)
    assert nbresume("erase", "nb.ipynb", "secret", "--yes").code == 3

    done = nbresume("erase", "nb.ipynb", "a", "--yes", "--because", "asked for")

    assert done.code == 0, done.said
    assert holding(tmp_path) == []
    status = json.loads(nbresume("status", "nb.ipynb", "--json").out)
    assert status["steps"][0]["state"] == "ERASED"
    assert nbresume("verify", "nb.ipynb").code == 0
    assert "what step a left" in nbresume("history", "nb.ipynb").out
    collected = json.loads(nbresume("gc", "--json").out)
    assert collected["going"] == []


def test_what_follows_from_the_records_is_written_again(
    nbresume, tmp_path, monkeypatch
):
    """Told without --repair, written with it; a damaged payload stays."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "nb.ipynb", LOAD, "%%step a\nx = 1")
    with Kernel(tmp_path, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, "%%step a\nx = 1")):
            kernel.ok(code, f"c{number}")
    (shown,) = (tmp_path / ".nbresume").glob("data.zarr/*/*/zarr.json")
    good = shown.read_bytes()
    shown.unlink()

    told = nbresume("verify", "nb.ipynb")
    assert told.code == 0
    assert "zarr metadata of step a (commit 1)" in told.out
    assert "--repair writes it again" in told.out
    assert not shown.exists()

    assert "it is written again" in nbresume("verify", "nb.ipynb", "--repair").out

    assert shown.read_bytes() == good
    assert "zarr metadata" not in nbresume("verify", "nb.ipynb").out
    (pack,) = (tmp_path / ".nbresume").glob("data.zarr/*/*/pack/c.0")
    pack.chmod(0o600)
    pack.write_bytes(b"")
    assert nbresume("verify", "nb.ipynb", "--repair").code == 1
    assert pack.read_bytes() == b""
