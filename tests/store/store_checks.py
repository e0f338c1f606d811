"""Records for tests, and the checks that several tests and planted faults share."""

import os
import stat
from contextlib import contextmanager
from datetime import UTC, datetime

from nbresume.model.envelope import Envelope

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)


def record(revision: int, **changes) -> Envelope:
    """Return a record of the chain ``c1``."""
    fields = {
        "id": "c1",
        "run_id": "",
        "revision": revision,
        "kind": "acme.order",
        "schema_version": 1,
        "payload": {"n": revision},
        "updated_at": NOW,
        "nonce": f"nonce-{revision}",
    }
    return Envelope(**(fields | changes))


def filled(chain, count: int) -> list:
    """Append records that hang on each other; return their links."""
    links = []
    for revision in range(count):
        prev = links[-1].digest if links else ""
        links.append(chain.append(record(revision, prev=prev)))
    return links


def break_file(path, change) -> None:
    """Replace the bytes of a stored file by `change` of them."""
    data = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(change(data))


def flip(at: int):
    """Return a change that turns one bit of byte `at`."""
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@contextmanager
def counted(patch):
    """Count what reaches the file system: a list of (operation, what)."""
    seen: list[tuple[str, object]] = []

    def watch(name, what):
        original = getattr(os, name)

        def watched(*args, **keywords):
            seen.append((name, what(*args)))
            return original(*args, **keywords)

        patch.setattr(os, name, watched)

    def kind(descriptor):
        return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"

    with patch.context() as patch:  # noqa: PLR1704 - undone at the end
        watch("fsync", kind)
        watch("link", lambda source, _: os.path.dirname(source))  # noqa: PTH120
        watch("replace", lambda _, target: os.path.basename(target))  # noqa: PTH119
        watch("unlink", os.path.dirname)
        watch("mkdir", lambda path, *_: os.path.basename(path))  # noqa: PTH119
        watch("write", lambda _, data: len(data))
        watch("open", lambda _, flags, *__: "new" if flags & os.O_CREAT else "old")
        yield seen
