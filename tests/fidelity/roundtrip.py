# ruff: noqa: S301 - pickles of its own other half
"""Dump cases in one process, rebuild and check them in another (no test itself).

``python roundtrip.py dump IN OUT`` runs the source of every case in ``__main__`` and
pickles what it bound, unit by unit; ``python roundtrip.py rebuild IN OUT`` binds it
again and evaluates the checks of the case. Both are run by the `round_trip` function.
"""

import functools
import linecache
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

from nbresume.capture.atoms import importable, is_atom
from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
CELL = "kernel-4711-cell.py"
"""As a kernel does, the file name of a cell holds the number of the process."""


@functools.cache
def pythons():
    """Return {minor version: interpreter} of this Python and the project's others."""
    found = {VERSION: sys.executable}
    for folder in (".venv", ".venv-newest"):
        python = Path(__file__).parents[2] / folder / "bin" / "python"
        if python.exists():
            code = "import sys, nbresume; print('%d.%d' % sys.version_info[:2])"
            done = subprocess.run(
                [str(python), "-c", code], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                found.setdefault(done.stdout.strip(), str(python))
    return found


def routes():
    """Return the pairs (writes, reads) of minor versions: within this one, and across.

    Both directions are run by each Python that the suite is run on.
    """
    others = [version for version in pythons() if version != VERSION]
    across = [pair for one in others for pair in ((VERSION, one), (one, VERSION))]
    return [(VERSION, VERSION), *across]


def round_trip(cases, folder: Path, route=None):
    """Return {case: what went wrong} of {case: (source, checks)}; empty: nothing."""
    writes, reads = route or (VERSION, VERSION)
    texts = {name: tuple(case) for name, case in cases.items()}
    (folder / "cases").write_bytes(pickle.dumps(texts))
    _run(writes, "dump", folder / "cases", folder / "dumped", seed="1")
    _run(reads, "rebuild", folder / "dumped", folder / "results", seed="2")
    results = pickle.loads((folder / "results").read_bytes())
    return {name: told for name, told in results.items() if told}


def _run(version, what, source: Path, target: Path, *, seed):
    # Each interpreter has the project in its own environment.
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "PYTHONWARNINGS": "error",
    }
    command = [pythons()[version], __file__, what, str(source), str(target)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def _clear(namespace):
    for name in set(namespace) - KEEP:
        del namespace[name]


def dump_case(source, namespace):
    """Return names, units and digests of what a source binds."""
    lines = source.splitlines(keepends=True)
    linecache.cache[CELL] = (len(source), None, lines, CELL)
    exec(compile(source, CELL, "exec"), namespace)  # noqa: S102 - the case
    values = {
        name: value
        for name, value in namespace.items()
        if name not in KEEP and name != "__annotations__"
    }
    looks = {name: look(value, namespace) for name, value in values.items()}
    compound = {
        name: value
        for name, value in values.items()
        if not is_atom(value) and type(value) is not type(sys) and not importable(value)
    }
    objects = {id(value): value for value in compound.values()}
    objects |= _shared(compound, looks)
    units = {key: f"o{at}" for at, key in enumerate(objects)}
    streams = _dump_all(list(objects.values()), units, namespace)
    names = {
        name: units[id(value)] if name in compound else value
        for name, value in values.items()
        if name in compound or is_atom(value)
    }
    linecache.cache.pop(CELL, None)
    digests = {name: seen.digest for name, seen in looks.items() if name in names}
    return names, streams, digests, VERSION


def _shared(compound, looks):
    seen, twice = {}, {}
    for name in compound:
        for key, value in looks[name].reach.items():
            if key in seen:
                twice[key] = value
            seen[key] = value
    return twice


def _dump_all(objects, units, namespace):
    alone = {
        units[id(value)]: dump([value], units=units, namespace=namespace)
        for value in objects
    }
    by_id = {units[id(value)]: value for value in objects}
    streams = {}
    for object_id, dumped in alone.items():
        members = sorted(
            other
            for other in _reached(object_id, alone)
            if object_id in _reached(other, alone)
        )
        if len(members) > 1:
            values = [by_id[member] for member in members]
            dumped = dump(values, units=units, namespace=namespace)  # noqa: PLW2901
        buffers = [bytes(buffer.data) for buffer in dumped.buffers]
        shown = [(buffer.dtype, buffer.shape) for buffer in dumped.buffers]
        streams[object_id] = (dumped.stream, buffers, shown, members)
    return streams


def _reached(object_id, alone):
    seen, todo = set(), [object_id]
    while todo:
        for ref in alone[todo.pop()].refs - seen:
            seen.add(ref)
            todo.append(ref)
    return seen


def check_case(dumped, checks, namespace):
    """Return what is wrong with the rebuilt names."""
    names, streams, digests, _ = dumped
    got = {}

    def resolve(object_id):
        if object_id not in got:
            stream, buffers, _, members = streams[object_id]
            writable = [memoryview(bytearray(data)) for data in buffers]
            value = rebuild(stream, writable, resolve=resolve, namespace=namespace)
            if len(members) > 1:
                got.update(zip(members, value, strict=True))
            else:
                got[object_id] = value
        return got[object_id]

    for name, target in names.items():
        namespace[name] = (
            resolve(target) if isinstance(target, str) and target in streams else target
        )
    wrong = [
        f"another digest: {name}"
        for name, digest in digests.items()
        if digest != look(namespace[name], namespace).digest
    ]
    info = {
        "sizes": {
            name: len(streams[target][0])
            for name, target in names.items()
            if target in streams
        },
        "shown": {
            name: streams[target][2]
            for name, target in names.items()
            if target in streams
        },
    }
    namespace.update(info, SHOWN=_shows_source, RAISES=_raises)
    exec("import sys", namespace)  # noqa: S102 - modules are imported by name
    failed = [check for check in checks if not eval(check, namespace)]  # noqa: S307 - the case
    return wrong + [f"not true: {check}" for check in failed]


def _shows_source(function):
    """Tell whether a traceback shows the last line of a function that fails."""
    linecache.checkcache()
    try:
        function()
    except Exception:  # noqa: BLE001 - any will do
        return "# here" in traceback.format_exc()
    return False


def _raises(kind, function):
    try:
        function()
    except kind:
        return True
    return False


def main(what, source, target):
    """Do one half and write its results."""
    namespace = sys.modules["__main__"].__dict__
    given = pickle.loads(Path(source).read_bytes())
    results = {}
    for name, case in given.items():
        _clear(namespace)
        try:
            if what == "dump":
                results[name] = (dump_case(case[0], namespace), case)
            elif isinstance(case, str):
                results[name] = [case]
            else:
                dumped, (text, checks) = case
                imports = [row for row in text.splitlines() if row[:7] == "import "]
                exec("\n".join(imports), namespace)  # noqa: S102 - modules come by name
                results[name] = check_case(dumped, checks, namespace)
        except Exception:  # noqa: BLE001 - told to the test
            told = traceback.format_exc()
            results[name] = told if what == "dump" else [told]
    Path(target).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    KEEP = set(globals()) | {"KEEP"}
    main(*sys.argv[1:])
