"""What every backend must do with encryption over it: all files of it are payloads."""

import pytest
from conformance import BackendTests

from nbresume.errors import Unavailable
from nbresume.store.datakeys import DataKeys
from nbresume.store.sealed import SealedBackend

STORE = "5" * 32
KEYS = {"a" * 16: b"k" * 32}
_BELOW = "data.zarr/r"


def sealed(backend, keys=KEYS, store=STORE):
    """Return an encrypted store over another one, as who has these keys opens it."""
    data_keys = DataKeys(backend, store, keys, source="a test")
    data_keys.ensure()
    return SealedBackend(backend, data_keys, store)


class Below:
    """The keys of payloads, as if there were nothing else."""

    def __init__(self, backend):
        self._backend = backend

    def __getattr__(self, name):
        act = getattr(self._backend, name)

        def moved(key, *rest, **more):
            if isinstance(key, dict):
                return act({f"{_BELOW}/{one}": data for one, data in key.items()})
            if isinstance(key, list):
                return act([f"{_BELOW}/{one}" for one in key], *rest, **more)
            if name == "link":
                rest = tuple(f"{_BELOW}/{one}" for one in rest)
            whole = _BELOW if name == "names" and not key else f"{_BELOW}/{key}"
            return act(whole, *rest, **more)

        return moved


class PayloadTests(BackendTests):
    """The conformance suite, every file of it encrypted."""

    def test_a_link_holds_the_same_bytes(self, backend):
        """A file opens in its own place alone: a link is refused, nothing is made."""
        backend.write("g/a", [b"one"])

        with pytest.raises(Unavailable, match="its own place"):
            backend.link("g/a", "h/b")

        assert backend.size("h/b") is None

    def test_a_link_replaces_nothing(self, backend):
        """Nor does a link replace what is there."""
        backend.write("g/a", [b"one"])
        backend.write("g/b", [b"two"])

        with pytest.raises(Unavailable):
            backend.link("g/a", "g/b")

        assert backend.read("g/b") == b"two"

    def test_keys_that_share_their_bytes_are_known(self, backend):
        """None do: equal bytes are not seen to be equal."""
        backend.write("g/a", [b"one"])
        backend.write("g/b", [b"one"])

        assert backend.shared_as("g/a") == backend.shared_as("g/b") == ""
