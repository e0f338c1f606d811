"""Which stores are opened, and which are refused."""

import json

import pytest
from store_checks import break_file

from nbresume.errors import Damaged, KeyMissing, SchemaError, UsageError
from nbresume.settings import __version__
from nbresume.store.layout import FORMAT, Layout, open_layout

ID = "0" * 31 + "1"
OTHER = "0" * 31 + "2"
GOOD = {"format": FORMAT, "id": ID, "digest": "blake3", "cipher": ""}


def test_a_new_store_gets_an_id_for_good(local):
    """The id of a store is given once and then found again."""
    made = open_layout(local, new_id=ID)

    assert made == Layout(format=1, store_id=ID)
    assert open_layout(local, new_id=OTHER) == made
    assert open_layout(local, new_id=None) == made
    assert json.loads(local.read("store.json")) == GOOD | {
        "writer": f"nbresume {__version__}"
    }


def test_a_folder_that_is_no_store_is_not_made_one_by_reading(local):
    """Looking for a store makes none."""
    with pytest.raises(KeyMissing):
        open_layout(local, new_id=None)

    assert local.size("store.json") is None


def test_of_two_makers_one_id_is_used_by_both(memory):
    """Two kernels that make the store at once agree on its id."""
    read = memory.read

    def made_meanwhile(key):
        memory.read = read
        open_layout(memory, new_id=OTHER)
        raise KeyMissing(key)

    memory.read = made_meanwhile

    assert open_layout(memory, new_id=ID).store_id == OTHER


def test_an_id_that_is_none_is_refused(memory):
    """A store id is 32 hexadecimal digits."""
    with pytest.raises(UsageError):
        open_layout(memory, new_id="mine")

    assert memory.files == {}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "format 2, written by an unnamed release; this release reads"),
        ({"format": 2, "writer": "nbresume 7"}, "written by nbresume 7"),
        ({"format": 0}, "format 0"),
        ({"format": 3, "digest": "new", "new": 1}, "format 3"),
        ({"digest": "md5"}, "digest md5"),
        ({"cipher": "aes-gcm"}, "cipher aes-gcm"),
    ],
)
def test_an_unknown_format_is_refused_unchanged(local, change, says):
    """A store of a newer release is refused, and not a byte of it changes."""
    data = json.dumps(GOOD | change).encode()
    local.create("store.json", data)

    with pytest.raises(SchemaError, match=says):
        open_layout(local, new_id=OTHER)

    assert local.read("store.json") == data
    assert sorted(local.names("")) == [".gitignore", "store.json", "tmp"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        b'{"format":true}',
        b'{"format":"1"}',
        json.dumps(GOOD | {"id": "x"}).encode(),
        json.dumps(GOOD | {"id": 1}).encode(),
    ],
)
def test_a_damaged_store_is_refused_unchanged(local, data):
    """A truncated or overwritten store.json is told, not replaced."""
    local.create("store.json", data)

    with pytest.raises(Damaged, match=r"store\.json"):
        open_layout(local, new_id=OTHER)

    assert local.read("store.json") == data


def test_a_store_that_lost_its_json_gets_no_new_id(local):
    """Records without a store.json are told, not taken over."""
    open_layout(local, new_id=ID)
    local.create("journal/c1/0000000000.rec", b"")
    break_file(local.root / "store.json", lambda data: data)
    (local.root / "store.json").unlink()

    with pytest.raises(Damaged, match="there are records"):
        open_layout(local, new_id=OTHER)
