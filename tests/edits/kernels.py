"""A process that has imported everything and forks kernels, each an IPython shell.

A request is a file: which notebook, in which folder, one *Run All* after the other.
The forked process answers with a file beside it, and ends. `python kernels.py` reads
the paths of requests and says when each was answered.
"""

import contextlib
import importlib
import io
import json
import os
import random
import re
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import nbclient  # noqa: F401 - imported once, here
import numpy as np
import pandas as pd
import zarr  # noqa: F401
from IPython.core.interactiveshell import InteractiveShell
from portrait import portraits, shared
from tracing import Tracer
from traitlets.config import Config

from nbresume.ui.ipython import magics, steps  # noqa: F401

LIMIT_S = 300
CLEAN_LIMIT_S = 3
"""Of the processor: an edit may have made a loop without end."""
_LIBRARIES = (
    "sklearn.cluster",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.tree",
)
"""What the notebooks import, and takes a second."""
_RESULT = re.compile(r"^Out\[\d+\]: |(?<=<ipython-input-)\d+", re.MULTILINE)
"""What counts the cells that this kernel has run."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_OURS = re.compile(r"^(nbresume:|\[restored\]).*\n?", re.MULTILINE)


class _Screen(io.StringIO):
    """A stream whose ``write`` can be wrapped, as that of a kernel can."""


class Spy:
    """Notes which bodies run: an AST transformer that comes after nbresume's."""

    def __init__(self) -> None:
        self.ran = False

    def visit(self, tree):
        """Note whether anything is left to run."""
        self.ran = bool(tree.body)
        return tree


def _shell() -> InteractiveShell:
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config, colors="nocolor")


def _run(shell: InteractiveShell, name: str, source: str) -> tuple[str, str]:
    screen = _Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        result = shell.run_cell(source, cell_id=name, store_history=True)
    error = result.error_in_exec or result.error_before_exec
    text = _ADDRESS.sub("", _RESULT.sub("", screen.getvalue()))
    return (f"{type(error).__name__}: {error}" if error else ""), text


def _namespace(names: dict) -> dict:
    told = portraits(names)
    return {
        "values": {name: portrait.digest for name, portrait in told.items()},
        "shared": shared(told),
        "text": {name: portrait.text for name, portrait in told.items()},
    }


def clean(request: dict) -> dict:
    """Run the cells without nbresume and note what they meet."""
    shell = _shell()
    # a fork has a state of its own, and two clean runs are to begin alike
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the state that notebooks share
    tracer = Tracer(shell.user_ns)
    cells, error, failed = {}, "", ""
    for name, source in request["runs"][0]["cells"]:
        bound = {k: id(v) for k, v in tracer.names().items()}
        met = tracer.before(source)
        error, text = _run(shell, name, source)
        cells[name] = tracer.after(met) | {"text": text, "frames": []}
        if error:
            failed = name
            break
        cells[name]["frames"] = [
            n
            for n, value in tracer.names().items()
            if isinstance(value, pd.DataFrame) and bound.get(n) != id(value)
        ]
    return {
        "cells": cells,
        "error": error,
        "failed": failed,
        **_namespace(tracer.names()),
    }


def kernel(request: dict) -> list[dict]:
    """Run all cells of each version of the notebook, in one kernel."""
    notebook = Path(request["folder"]) / request.get("notebook", "main.ipynb")
    os.environ["JPY_SESSION_NAME"] = str(notebook)
    os.environ.update(request.get("env", {}))
    shell, spy = _shell(), Spy()
    system = set(shell.user_ns)
    answers = []
    for run in request["runs"]:
        for file, text in run["files"].items():
            if not Path(file).exists() or Path(file).read_text() != text:
                Path(file).write_text(text)
        if run["saved"]:
            notebook.write_text(run["saved"])
        answers.append(_run_all(shell, spy, run["cells"], system))
    return answers


def _run_all(shell, spy: Spy, cells: list, system: set) -> dict:
    ran, texts, said, error, failed = [], {}, {}, "", ""
    for name, source in cells:
        spy.ran = False
        error, text = _run(shell, name, source)
        if spy not in shell.ast_transformers:
            shell.ast_transformers.append(spy)
        ran += [name] if spy.ran else []
        texts[name] = _OURS.sub("", text)
        said[name] = "".join(m.group() for m in _OURS.finditer(text))
        if error:
            failed = name
            break
    extension = getattr(shell, "_nbresume", None)
    waiting = list(extension.session.parts.live.pending) if extension else []
    for name in waiting:
        # those that are rebuilt together come together
        try:
            extension.session.parts.live.load(name)
        except Exception as broken:  # noqa: BLE001 - whatever it is, it is wrong
            error = f"{name} does not load: {type(broken).__name__}: {broken}"
    names = {
        name: value
        for name, value in shell.user_ns.items()
        if name not in system and not name.startswith("_")
    }
    return {
        "ran": ran,
        "texts": texts,
        "said": said,
        "error": error,
        "failed": failed,
        **_namespace(names),
    }


def answer(path: Path) -> None:
    """Do what a request asks for, in a process of its own."""
    request = json.loads(path.read_text())
    if request["clean"]:
        signal.setitimer(signal.ITIMER_PROF, CLEAN_LIMIT_S)
    else:
        signal.alarm(LIMIT_S)
    os.chdir(request.get("cwd") or request["folder"])
    os.environ["IPYTHONDIR"] = str(Path(request["folder"]) / ".ipython")
    sys.path.insert(0, request["folder"])
    # a module that was edited within a second counts at once
    sys.dont_write_bytecode = True
    told = clean(request) if request["clean"] else kernel(request)
    path.with_suffix(".answer").write_text(json.dumps(told))


def main() -> None:
    """Fork a process for each request; say how it ended."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                answer(Path(line.strip()))
            except BaseException:  # noqa: BLE001 - whatever it is, the test shows it
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
