"""A real kernel process for tests: started, asked, interrupted and killed by its pid.

It is started the way jupyter-server starts one: with the notebook's path in
``JPY_SESSION_NAME`` and the cell's id in the metadata of each request.
"""

import hashlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest
from jupyter_client.manager import KernelManager

_COLORS = re.compile(r"\x1b\[[0-9;]*m")
LOAD = "%load_ext nbresume"


@dataclass
class Said:
    """What one cell showed, and how its reply ended."""

    status: str
    reply: dict
    messages: list[dict] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return streams, displays and errors as one text."""
        return "".join(_text(m["msg_type"], m["content"]) for m in self.messages)

    @property
    def error(self) -> str:
        """Return ``Name: message`` of the reply; "" if there was none."""
        if self.status != "error":
            return ""
        return f"{self.reply['ename']}: {self.reply['evalue']}"

    def streams(self, name: str) -> str:
        """Return everything that went to one stream."""
        return "".join(
            m["content"]["text"]
            for m in self.messages
            if m["msg_type"] == "stream" and m["content"]["name"] == name
        )

    def bundles(self) -> list[dict]:
        """Return the MIME bundles that were shown, in order."""
        kinds = ("display_data", "execute_result", "update_display_data")
        return [m["content"] for m in self.messages if m["msg_type"] in kinds]


def _text(kind: str, content: dict) -> str:
    if kind == "stream":
        return content["text"]
    if kind in ("display_data", "execute_result", "update_display_data"):
        return content["data"].get("text/plain", "") + "\n"
    if kind == "error":
        trace = "\n".join(content["traceback"])
        return f"{_COLORS.sub('', trace)}\n"
    return ""


def _transport(folder: str, options: dict) -> dict[str, str]:
    """Return how to reach a kernel: a free TCP port may be taken before it is used."""
    if options.get("ports"):
        return {}
    return {"transport": "ipc", "ip": f"{folder}/s"}


class Kernel:
    """One kernel process and a client."""

    def __init__(self, folder: Path, notebook: str = "main.ipynb", **options) -> None:
        self.folder = folder
        env = {
            **os.environ,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "MPLBACKEND": "Agg",
            "IPYTHONDIR": str(folder / ".ipython"),
        }
        env.pop("JPY_SESSION_NAME", None)
        if notebook:
            env["JPY_SESSION_NAME"] = str(folder / notebook)
        env |= options.get("env", {})
        self._sockets = tempfile.TemporaryDirectory(prefix="kernel-")
        self._manager = KernelManager(
            kernel_name="python3", **_transport(self._sockets.name, options)
        )
        # jupyter_client puts this Python in place of "python" only where it is first
        argv = self._manager.kernel_spec.argv
        argv[:1] = [*options.get("under", []), sys.executable]
        self._manager.start_kernel(
            env=env, cwd=str(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.process = self._manager.provisioner.process
        self.pid = self.process.pid
        self._client = self._manager.client()
        self._client.start_channels()
        self.answers: list[str] = []
        try:
            self._client.wait_for_ready(timeout=60)
        except RuntimeError as error:
            said = self.process.stderr.read().decode() if self.process.poll() else ""
            self.close()
            pytest.fail(f"the kernel did not start ({error}): {said[-800:]}")

    @property
    def shell_port(self) -> int:
        """The port on which requests come and replies go, of one made with `ports`."""
        return self._manager.shell_port

    # -- cells ------------------------------------------------------------------

    def send(self, code: str, cell_id: str | None = None, **content) -> str:
        """Send a cell; return the id of the request."""
        full = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            "stop_on_error": True,
        }
        metadata = {"cellId": cell_id} if cell_id else {}
        message = self._client.session.msg(
            "execute_request", full | content, metadata=metadata
        )
        self._client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def run(self, code: str, cell_id: str | None = None, **content) -> Said:
        """Run a cell to its end."""
        return self.finish(self.send(code, cell_id, **content))

    def ok(self, code: str, cell_id: str | None = None) -> Said:
        """Run a cell that must succeed."""
        said = self.run(code, cell_id)
        assert said.status == "ok", said.text
        return said

    def finish(self, request: str, *, timeout_s: float = 60) -> Said:
        """Wait for the reply and the end of the outputs of a request."""
        said, idle = Said("", {}), False
        until = time.monotonic() + timeout_s
        while not (idle and said.status):
            assert time.monotonic() < until, f"no end of the cell: {said.text[-400:]}"
            idle = self._take(said, request) or idle
        return said

    def _take(self, said: Said, request: str) -> bool:
        idle = False
        try:
            message = self._client.iopub_channel.get_msg(timeout=0.05)
            if message["parent_header"].get("msg_id") == request:
                said.messages.append(message)
                state = message["content"].get("execution_state")
                idle = message["msg_type"] == "status" and state == "idle"
        except queue.Empty:
            pass
        if not said.status:
            try:
                message = self._client.shell_channel.get_msg(timeout=0)
                if message["parent_header"].get("msg_id") == request:
                    said.reply = message["content"]
                    said.status = message["content"]["status"]
            except queue.Empty:
                pass
        if self.answers and self._client.stdin_channel.msg_ready():
            self._client.stdin_channel.get_msg(timeout=1)
            self._client.input(self.answers.pop(0))
        return idle

    def evaluate(self, expression: str) -> str:
        """Return the repr of an expression, evaluated without running a cell."""
        request = self.send(
            "",
            silent=True,
            store_history=False,
            allow_stdin=False,
            user_expressions={"x": expression},
        )
        answer = self.finish(request).reply["user_expressions"]["x"]
        if answer["status"] == "ok":
            return answer["data"]["text/plain"]
        return f"{answer['ename']}: {answer['evalue']}"

    def ask(self, kind: str, **content) -> dict:
        """Ask something other than to run a cell; return the reply's content."""
        call = getattr(self._client, kind)
        request = call(**content)
        while True:
            message = self._client.shell_channel.get_msg(timeout=30)
            if message["parent_header"].get("msg_id") == request:
                return message["content"]

    # -- the end ----------------------------------------------------------------

    def interrupt(self) -> None:
        """Send SIGINT to the process, as a front end does."""
        os.kill(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """End the process with SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.close()

    def shut_down(self) -> None:
        """Ask the process to end itself, as a front end does at its own end."""
        self._manager.shutdown_kernel(now=False)
        self.close()

    def close(self) -> None:
        """End the process and let go of everything."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self._sockets.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -- notebooks and folders -------------------------------------------------------


def save(path: Path, *sources: str | tuple[str, str], **changes) -> None:
    """Save a notebook; a cell is its text, or (id, text), else its id is ``cN``."""
    cells = []
    for number, source in enumerate(sources):
        cell_id, text = source if isinstance(source, tuple) else (f"c{number}", source)
        cells.append(
            {
                "cell_type": "code",
                "id": cell_id,
                "metadata": {},
                "source": text,
                "outputs": [],
                "execution_count": None,
            }
        )
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(whole | changes))


def plant(folder: Path, source: str) -> dict[str, str]:
    """Write a startup file for kernels; return the environment that has it run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(source)
    # what the tests import from stays what the kernel imports from
    above = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), above)))}


def hashes(folder: Path) -> dict[str, str]:
    """Return every file below a folder with the digest of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def wait_for(path: Path, *, timeout_s: float = 30) -> None:
    """Return once the path exists."""
    until = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.01)


def records(store: Path) -> list[str]:
    """Return the names of all records of a store."""
    return sorted(path.name for path in store.glob("journal/*/*.rec"))


def kinds(store: Path) -> list[str]:
    """Return the kinds of the records of a store's only run, in order."""
    return [
        json.loads(path.read_bytes())["kind"].removeprefix("nbresume.")
        for path in sorted(store.glob("journal/*/*.rec"))
    ]
