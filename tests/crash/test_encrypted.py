"""The ladder in an encrypted store: what it writes is cut off as well as any other.

All of its kills are played at the first attempt, the few of the plain matrix in their
situations; what is left in the files of payloads is encrypted, torn or whole.
"""

import pytest
import rows
from test_matrix import QUICK, every
from test_matrix import test_a_kernel_that_ends_there as ends_there

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module", autouse=True)
def encrypted():
    """Let every store that is made here be encrypted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NBRESUME_ENCRYPT", "1")
        yield


@pytest.mark.parametrize(
    ("row", "situation", "options"),
    [
        one
        for one in every(rows.KILLS, quick=QUICK)
        if one.values[1] == "first" or not one.marks
    ],
)
def test_an_encrypted_kernel_that_ends_there(play, stage, row, situation, options):
    """Nothing is lost, doubled or wrongly shown; and nothing lies in the clear."""
    ends_there(play, row, situation, options)

    stores = list(stage.glob("*/.nbresume"))
    assert stores
    for store in stores:
        assert "aes-256-gcm" in (store / "store.json").read_text()
        for path in store.glob("data.zarr/*/*/*/c*"):
            head = path.read_bytes()[:8]
            assert head == b"nbseal1\n"[: len(head)], path
