"""An encrypted store in plain zarr: `import nbresume.codec`, and the key."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import zarr
from store_checks import break_file
from test_plain_zarr import BIG, RUN, blob
from test_sealed import CANARY, KEYS, STORE, sealed, written

from nbresume import codec
from nbresume.compose import data_folder
from nbresume.compose.stores import Place, open_store
from nbresume.errors import Damaged, KeyMissing, SealedError, UsageError
from nbresume.store.datakeys import DataKeys
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects
from nbresume.store.sealed import CODEC

ROOT = Path(__file__).resolve().parents[2]


def test_plain_zarr_reads_it_with_the_codec_and_the_key(local, monkeypatch):
    """Every array is equal; the pack too."""
    _, places = written(local)
    monkeypatch.setattr(codec, "_UNLOCKED", {STORE: DataKeys(local, STORE, KEYS)})
    group = zarr.open_group(local.root / "data.zarr", mode="r")[f"{RUN}/a1"]

    for name, array in BIG.items():
        np.testing.assert_array_equal(group[name][...], array)
    place = places["small"][1]
    pack = group["pack"][place.offset : place.offset + place.length]
    assert pack.tobytes() == CANARY


def test_plain_zarr_without_the_key_is_told_what_to_type(local, monkeypatch, tmp_path):
    """Shape and dtype are in the clear, values are not."""
    written(local)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(codec, "_UNLOCKED", {})
    array = zarr.open_group(local.root / "data.zarr", mode="r")[f"{RUN}/a1/one"]

    assert array.shape == BIG["one"].shape
    with pytest.raises(SealedError, match=r"nbresume\.codec\.unlock"):
        array[...]


def test_plain_zarr_refuses_an_array_in_the_place_of_another(local, monkeypatch):
    """A chunk of another array of the same shape does not open."""
    written(local)
    objects = Objects(sealed(local), RUN)
    draft = objects.draft("a2")
    draft.add(blob(BIG["one"] + 1, "one"))
    draft.write()
    here, there = (next(local.root.rglob(f"{g}/one/c.0")) for g in ("a1", "a2"))
    there_bytes = there.read_bytes()
    break_file(here, lambda _: there_bytes)
    monkeypatch.setattr(codec, "_UNLOCKED", {STORE: DataKeys(local, STORE, KEYS)})
    array = zarr.open_group(local.root / "data.zarr", mode="r")[f"{RUN}/a1/one"]

    with pytest.raises(Damaged, match="another place"):
        array[...]


def test_nothing_is_written_through_zarr(local, monkeypatch):
    """The codec only reads."""
    written(local)
    monkeypatch.setattr(codec, "_UNLOCKED", {STORE: DataKeys(local, STORE, KEYS)})
    array = zarr.open_group(local.root / "data.zarr", mode="r+")[f"{RUN}/a1/one"]

    with pytest.raises(UsageError, match="written by nbresume alone"):
        array[...] = 1


# -- in a process of its own -------------------------------------------------------


def made(folder, *, encrypt=True):
    """Make a store of this user with one array in it."""
    store = open_store(Place(folder, data_folder(), encrypt=encrypt), create=True)
    draft = Objects(store.backend, RUN).draft("a1")
    draft.add(blob(BIG["one"], "one"))
    draft.add(Blob(CANARY))
    draft.write()
    Objects(store.backend, RUN).publish("a1", {})
    return store


READ = f"""
import sys
import zarr
import nbresume.codec
for folder in sys.argv[2:]:
    nbresume.codec.unlock(folder)
print(zarr.open_group(sys.argv[1], mode="r")["{RUN}/a1/one"][...].sum())
"""


def read(folder, *words):
    """Read the array by plain zarr in a process of its own; return what it printed."""
    command = [sys.executable, "-c", READ, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder
    )
    return done.stdout.strip() or done.stderr.splitlines()[-1]


def test_importing_the_codec_is_enough_in_the_folder_of_the_store(tmp_path):
    """The store beside which Python was started is unlocked by itself."""
    made(tmp_path / ".nbresume")

    assert read(tmp_path, ".nbresume/data.zarr") == str(BIG["one"].sum())


def test_a_store_elsewhere_is_unlocked_by_name(tmp_path):
    """The folder is named once."""
    made(tmp_path / "there")
    (tmp_path / "here").mkdir()
    data = tmp_path / "there" / "data.zarr"

    assert read(tmp_path / "here", data, tmp_path / "there") == str(BIG["one"].sum())
    assert "nbresume.codec.unlock" in read(tmp_path / "here", data)


def test_what_cannot_be_unlocked_is_told(tmp_path, monkeypatch):
    """No store, one in the clear, one of another key."""
    made(tmp_path / "clear", encrypt=False)
    made(tmp_path / "sealed")

    with pytest.raises(KeyMissing):
        codec.unlock(tmp_path / "none")
    with pytest.raises(UsageError, match="not encrypted"):
        codec.unlock(tmp_path / "clear")
    monkeypatch.setenv("NBRESUME_KEY", "ab" * 32)
    with pytest.raises(SealedError, match="they take the key"):
        codec.unlock(tmp_path / "sealed")


def test_zarr_finds_the_codec_by_its_entry_point():
    """An installed package needs no import: zarr asks for the name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [(name, value)] = project["entry-points"]["zarr.codecs"].items()

    assert name == CODEC
    assert EntryPoint(name, value, "zarr.codecs").load() is codec.SealedCodec


def test_a_codec_says_of_itself_what_makes_it_again():
    """Its form in a metadata document goes there and back."""
    made_of = codec.SealedCodec(store=STORE, array=f"{RUN}/a1/one")

    assert codec.SealedCodec.from_dict(made_of.to_dict()) == made_of
