"""A path in a request → a notebook that this user may see, or the one refusal.

The rule: what is absent, what lies outside of the server's root, and what the server
would not show to this user are one and the same answer. Whether the user may is asked
of the server's own authorizer and contents manager, which get the path where that of
the contents API has it.
"""

import asyncio
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from jupyter_server.base.handlers import APIHandler
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyter_server.utils import ensure_async
from tornado import web

from nbresume.errors import RefusedError
from nbresume.ui.asking import MaySee

_PATH: Final = "path"
_BAD: Final = (OSError, ValueError, RuntimeError, web.HTTPError)
"""What paths raise that no file can have: too long, with a null byte, in a circle."""


class _Named(msgspec.Struct, frozen=True):
    path: str = ""


class Finder(APIHandler):
    """A handler of requests that name a notebook by its path."""

    auth_resource: ClassVar[str] = "contents"
    """Who may read the notebook may read its run; who may write it may decide."""

    # as APIHandler overrides it
    async def prepare(self) -> None:  # type: ignore[override]
        """Tell the authorizer which notebook is asked for, before it is asked."""
        await super().prepare()
        self.path_kwargs[_PATH] = f"/{self._named().strip('/')}"

    def _named(self) -> str:
        if self.request.method != "POST":
            return str(self.get_query_argument(_PATH, ""))
        try:
            return msgspec.json.decode(self.request.body, type=_Named).path
        except msgspec.DecodeError:
            return ""  # the handler refuses it

    async def find(self, path: str) -> Path:
        """Return where the notebook lies.

        Raises
        ------
        RefusedError
            It is no file of this server, or one that this user is not shown.
        """
        path = path.strip("/")
        manager = self.contents_manager
        because = "the server's files do not lie in a folder of its computer"
        if isinstance(manager, FileContentsManager):
            because = "the server shows no such file"
            root = Path(manager.root_dir)
            # not resolved: a run knows its notebook by the path of the kernel
            try:
                if await self._is_shown(manager, root, path):
                    return root / path
            except _BAD:
                pass  # the same answer, whatever it is that cannot be looked at
        raise RefusedError(
            f"{path} was not looked at",
            because=because,
            remedy="Save the notebook, or open it where it lies now, below the root "
            "folder of the server; what was committed stays in its store.",
        )

    async def _is_shown(self, manager: Any, root: Path, path: str) -> bool:
        """Say whether the contents manager would show this file to this user."""
        behind = _below(root, root / path)
        if behind is None or any(p in ("", ".", "..") for p in path.split("/")):
            return False
        if not manager.allow_hidden and await ensure_async(manager.is_hidden(path)):
            return False
        if not await ensure_async(manager.file_exists(path)):
            return False
        # raises what the contents API would answer
        await ensure_async(manager.get(path, content=False))
        # a link leads no user to what they may not see where it lies
        where = behind.as_posix()
        return where == path or (
            await self._is_allowed(where)
            and bool(await ensure_async(manager.file_exists(where)))
        )

    async def _is_allowed(self, path: str) -> bool:
        """Ask the authorizer about another path than that of the request."""
        own = self.path_kwargs[_PATH]
        self.path_kwargs[_PATH] = f"/{path}"
        action = "read" if self.request.method == "GET" else "write"
        try:
            found = self.authorizer.is_authorized(
                self, self.current_user, action, self.auth_resource
            )
            return bool(await ensure_async(found))
        finally:
            self.path_kwargs[_PATH] = own

    def may_see(self) -> MaySee:
        """Return what says, in a thread, whether this user may know of another run.

        A store for several people holds runs of notebooks that not each of them may
        see: copied cells lead nobody there.
        """
        loop = asyncio.get_running_loop()

        def ask(path: str) -> bool:
            asked = self._may_know(path)
            return asyncio.run_coroutine_threadsafe(asked, loop).result()

        return ask

    async def _may_know(self, path: str) -> bool:
        manager: Any = self.contents_manager
        root = Path(manager.root_dir)
        try:
            former = _below(root, Path(path)) if path else None
            if former is None:
                return True  # of nobody whom this server serves
            if not await self._is_allowed(former.as_posix()):
                return False
            folder = _nearest_folder(root, former)
            return bool(await ensure_async(manager.dir_exists(folder)))
        except _BAD:
            return False


def _below(root: Path, path: Path) -> Path | None:
    """Return a path from the root on, links followed; None if it leads out of it."""
    real, top = path.resolve(), root.resolve()
    return real.relative_to(top) if real.is_relative_to(top) else None


def _nearest_folder(root: Path, path: Path) -> str:
    """Return the folder below the root in which it lay; it may be renamed by now."""
    above = [folder for folder in path.parents if (root / folder).is_dir()]
    return "" if above[0] == Path() else above[0].as_posix()
