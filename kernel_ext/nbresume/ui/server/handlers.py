"""The routes: a notebook's path → its run, audit trail and so on, as JSON; decisions.

The rule: a handler computes nothing. It has the notebook found (`finding`), asks or
decides as the command line does, and sends what it was given, or the refusal. Who
decides is who the server has authenticated.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from nbresume.errors import NbresumeError, NotCommitted, RefusedError, UsageError
from nbresume.ui import deciding, replies, text
from nbresume.ui.asking import Asked, MaySee, ask, history_of, note_shown
from nbresume.ui.deciding import ask_to_decide
from nbresume.ui.server.finding import Finder
from nbresume.ui.server.numbers import Numbers

Told = Callable[[Asked, str], str]
"""What one route says about a notebook, or the step that was named, as JSON."""
NO_RUN = 204
NOT_UNDERSTOOD = 400
NO_NOTEBOOK = 404
REFUSED = 409


class _Handler(Finder):
    """Sends refusals."""

    def refuse(self, status: int, error: NbresumeError) -> None:
        """Send what was refused, because of what, and what to do."""
        self.set_status(status)
        told = {
            "kind": error.kind,
            "message": error.refused,
            "because": error.because,
            "remedy": error.remedy,
        }
        self.finish(msgspec.json.encode(told))


class NotebookHandler(_Handler):
    """Answers about the notebook that the query's ``path`` names."""

    def initialize(self, told: Told) -> None:
        """Take what this route answers; it runs on a thread of its own."""
        self._told = told

    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """Send the answer: 204 without a run, 404 without a notebook, 409 refused."""
        step = self.get_query_argument("step", "")
        self.get_query_argument("path")  # 400 without one
        try:
            notebook = await self.find(path)
        except RefusedError as error:
            self.refuse(NO_NOTEBOOK, error)
            return
        try:
            # a store on a slow disk must not hold up the server
            asked = await asyncio.to_thread(
                ask,
                notebook,
                _nobody_listens,
                actor=_name_of(self.current_user),
                may_see=self.may_see(),
            )
        except NotCommitted:
            self.set_status(NO_RUN)
            self.finish()
            return
        except NbresumeError as error:
            self.refuse(REFUSED, error)
            return
        try:
            answer = await asyncio.to_thread(self._told, asked, step)
        except NbresumeError as error:
            self.refuse(REFUSED, error)
        else:
            self.finish(answer)


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person decided about a step; texts are as they would be typed."""

    path: str
    step: str
    how: Literal["retry", "evidence", "abandon", "rerun"]
    because: str
    kind: Literal["receipt", "query", "statement"] = "statement"
    reference: str = ""
    effect: str = ""
    """Key of the effect that evidence is about."""
    result: str | None = None
    """Of that effect, as a Python literal."""
    values: dict[str, str] = {}
    """Name → value that the step would have set, as a Python literal."""
    again: list[str] = []
    """Of a rerun: keys of effects that are made anew."""


class DecisionHandler(_Handler):
    """Records what the server's user decided about a step."""

    def initialize(self, numbers: Numbers) -> None:
        """Take what counts the conflicts that are met."""
        self._numbers = numbers

    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Send what was recorded; 400 not understood, 404 no notebook, 409 refused."""
        try:
            decision = msgspec.json.decode(self.request.body, type=Decision)
            notebook = await self.find(path)
        except msgspec.DecodeError as error:
            self.refuse(NOT_UNDERSTOOD, _not_understood(error))
            return
        except RefusedError as error:
            self.refuse(NO_NOTEBOOK, error)
            return
        try:
            may_see = self.may_see()
            said = await asyncio.to_thread(self._record, notebook, decision, may_see)
        except UsageError as error:
            self.refuse(NOT_UNDERSTOOD, error)
        except NbresumeError as error:
            self.refuse(REFUSED, error)
        else:
            self.finish(msgspec.json.encode({"said": said}))

    def _record(self, notebook: Path, decision: Decision, may_see: MaySee) -> str:
        actor = _name_of(self.current_user)
        asked = ask_to_decide(notebook, _nobody_listens, actor=actor, may_see=may_see)
        try:
            return _decided(asked, decision)
        finally:
            self._numbers.met(asked.run.journal)


def run_view(asked: Asked, _step: str) -> str:
    """Return the RunView, as ``nbresume status --json`` prints it."""
    return asked.view(quick=True).to_json().decode()


def audit_trail(asked: Asked, step: str) -> str:
    """Return the events, oldest first, as ``nbresume history --json`` prints them."""
    return replies.events_json(history_of(asked, step))


def plan(asked: Asked, _step: str) -> str:
    """Return what running all cells would do, as ``nbresume plan --json``."""
    return text.as_json(replies.planned(asked.view()))


def explained(asked: Asked, step: str) -> str:
    """Return why a step would run, or not, as ``nbresume explain --json``."""
    told = text.as_json(asked.run.explain(step))
    note_shown(asked, step, via="server")
    return told


def stored(asked: Asked, step: str) -> str:
    """Return what a step's commit stored, as ``nbresume inspect --json``."""
    told = text.as_json(asked.run.stored(step))
    note_shown(asked, step, via="server")
    return told


Route = tuple[str, type[APIHandler], dict[str, Any]]


def routes(base_url: str, numbers: Numbers) -> list[Route]:
    """Return the routes below a server's base URL."""
    answers = {
        "run": run_view,
        "history": audit_trail,
        "plan": plan,
        "explain": explained,
        "step": stored,
    }
    reading: list[Route] = [
        (url_path_join(base_url, "nbresume", name), NotebookHandler, {"told": told})
        for name, told in answers.items()
    ]
    decide = url_path_join(base_url, "nbresume", "decide")
    return [*reading, (decide, DecisionHandler, {"numbers": numbers})]


def _decided(asked: Asked, decision: Decision) -> str:
    if decision.how == "rerun":
        again = decision.again
        return deciding.rerun(asked, decision.step, decision.because, again)
    given = {
        "because": decision.because,
        "kind": decision.kind,
        "reference": decision.reference,
        "effect": decision.effect,
        "result": decision.result,
        "value": [f"{name}={value}" for name, value in decision.values.items()],
    }
    return deciding.resolve(asked, decision.step, decision.how, given)


def _name_of(user: Any) -> str:
    """Return the authenticated user as a record names them."""
    if user.name in ("", user.username):
        return str(user.username)
    return f"{user.name} ({user.username})"


def _not_understood(error: msgspec.DecodeError) -> UsageError:
    return UsageError(
        "nothing was decided",
        because=f"the request cannot be understood: {error}",
        remedy="Send JSON with path, step, how and because.",
    )


def _nobody_listens(_line: str) -> None:
    """Drop a notice: the kernel tells it to the person when the notebook runs."""
