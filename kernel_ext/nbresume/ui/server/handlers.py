"""The routes: a notebook's path → its run, or its audit trail, as JSON.

The rule: a handler computes nothing. It finds the notebook inside of the server's
root, asks as the command line asks, and sends what it was given, or the refusal.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyter_server.utils import ensure_async, url_path_join
from tornado import web

from nbresume.errors import NbresumeError, NotCommitted, RefusedError
from nbresume.ui import text
from nbresume.ui.asking import Asked, ask, history_of

Told = Callable[[Asked], str]
"""What one route says about a notebook, as JSON."""
NO_RUN = 204
NO_NOTEBOOK = 404
REFUSED = 409


class NotebookHandler(APIHandler):
    """Answers about the notebook that the query's ``path`` names."""

    auth_resource: ClassVar[str] = "contents"
    """Who may read the notebook may read its run."""

    def initialize(self, told: Told) -> None:
        """Take what this route answers; it runs on a thread of its own."""
        self._told = told

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Send the answer: 204 without a run, 404 without a notebook, 409 refused."""
        try:
            notebook = await self._find()
        except RefusedError as error:
            self._refuse(NO_NOTEBOOK, error)
            return
        try:
            # a store on a slow disk must not hold up the server
            answer = await asyncio.to_thread(self._ask, notebook)
        except NotCommitted:
            self.set_status(NO_RUN)
            self.finish()
        except NbresumeError as error:
            self._refuse(REFUSED, error)
        else:
            self.finish(answer)

    def _ask(self, notebook: Path) -> str:
        return self._told(ask(notebook, _nobody_listens))

    async def _find(self) -> Path:
        """Return where the notebook lies.

        Raises
        ------
        RefusedError
            It is no file of this server, or one that the server does not show.
        """
        path = self.get_query_argument("path").strip("/")
        manager = self.contents_manager
        because = "the server's files do not lie in a folder of its computer"
        if isinstance(manager, FileContentsManager):
            because = "the server shows no such file"
            root = Path(manager.root_dir)
            # not resolved: a run knows its notebook by the path of the kernel
            if _lies_in(root, path) and await _is_shown(manager, path):
                return root / path
        raise RefusedError(
            f"{path} was not looked at",
            because=because,
            remedy="Name a notebook below the server's root folder.",
        )

    def _refuse(self, status: int, error: NbresumeError) -> None:
        self.set_status(status)
        told = {
            "kind": error.kind,
            "message": error.refused,
            "because": error.because,
            "remedy": error.remedy,
        }
        self.finish(msgspec.json.encode(told))


def run_view(asked: Asked) -> str:
    """Return the RunView, as ``nbresume status --json`` prints it."""
    return asked.run.view().to_json().decode()


def audit_trail(asked: Asked) -> str:
    """Return the events, oldest first, as ``nbresume history --json`` prints them."""
    return text.events_json(history_of(asked))


def routes(base_url: str) -> list[tuple[str, type[APIHandler], dict[str, Told]]]:
    """Return the routes below a server's base URL."""
    answers = {"run": run_view, "history": audit_trail}
    return [
        (url_path_join(base_url, "nbresume", name), NotebookHandler, {"told": told})
        for name, told in answers.items()
    ]


def _lies_in(root: Path, path: str) -> bool:
    """Say whether a path stays below a folder, also behind symbolic links."""
    found = root / path
    inside = found.resolve().is_relative_to(root.resolve())
    return inside and ".." not in found.parts


async def _is_shown(manager: Any, path: str) -> bool:
    """Say whether the contents manager would show this file."""
    if not manager.allow_hidden and await ensure_async(manager.is_hidden(path)):
        return False
    return bool(await ensure_async(manager.file_exists(path)))


def _nobody_listens(_line: str) -> None:
    """Drop a notice: the kernel tells it to the person when the notebook runs."""
