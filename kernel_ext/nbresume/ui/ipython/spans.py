"""Spans of OpenTelemetry: one each time a step is run, one for each call of an effect.

The rule: only where the notebook, or whoever started its kernel, has imported
OpenTelemetry; nothing is imported for it here, and nothing of it can fail a cell. A
span has ids, names and counts, and of an exception the class; never a value or a text.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbresume.compose.graph import Session
from nbresume.settings import __version__
from nbresume.ui.ipython.pages import Phase

_log = logging.getLogger("nbresume.ui")

_HOW = {
    Phase.COMMITTED: "ran",
    Phase.RESTORED: "replayed",
    Phase.NOT_TAKEN: "not taken",
    Phase.FAILED: "failed",
    Phase.REFUSED: "refused",
    Phase.INTERRUPTED: "interrupted",
}
"""How a step ended, in the words of the report of a headless run."""
_ERRORS = (Phase.FAILED, Phase.REFUSED, Phase.INTERRUPTED)


class Spans:
    """The spans of one kernel."""

    def __init__(self) -> None:
        self._span: Any = None
        """Of the step whose body runs now."""
        self._token: Any = None

    # -- steps ------------------------------------------------------------------

    def step(self, session: Session, step: str, phase: Phase) -> None:
        """Begin or end the span of a step."""
        trace = _tracing()
        if trace is not None:
            _quietly(lambda: self._step(trace, session, step, phase))

    def _step(self, trace: Any, session: Session, step: str, phase: Phase) -> None:
        if phase is Phase.RUNNING:
            self._span = self._begin(trace, session, step)
            # what the body calls, and has spans for, stands below it
            context = trace.set_span_in_context(self._span)
            self._token = _context().attach(context)
            return
        span, self._span = self._span, None
        if span is None:
            # its body did not run, or OpenTelemetry was imported by it
            span = self._begin(trace, session, step)
        elif trace.get_current_span() is span:
            # a cell that awaits runs in a context of its own, which has ended with it
            _context().detach(self._token)
        self._end(trace, span, session, step, phase)

    def _begin(self, trace: Any, session: Session, step: str) -> Any:
        running = session.stepper.running
        attributes = {"nbresume.run": session.journal.run_id, "nbresume.step": step}
        if running is not None:
            attributes["nbresume.attempt"] = running.intent.attempt
        tracer = trace.get_tracer("nbresume", __version__)
        return tracer.start_span(f"step {step}", attributes=attributes)

    def _end(
        self, trace: Any, span: Any, session: Session, step: str, phase: Phase
    ) -> None:
        span.set_attribute("nbresume.how", _HOW[phase])
        commit = session.journal.state.commit(step)
        if commit is not None and phase not in _ERRORS:
            span.set_attribute("nbresume.revision", commit.revision)
            span.set_attribute("nbresume.attempt", commit.record.attempt)
        if phase in _ERRORS:
            error = _class_of(session, step, phase)
            span.set_status(trace.StatusCode.ERROR, error)
            span.set_attribute("error.type", error)
        span.end()

    # -- effects ----------------------------------------------------------------

    @contextmanager
    def effect(self, key: str) -> Iterator[None]:
        """Have a span for the call of an effect, below that of its step."""
        trace = _tracing()
        if trace is None:
            yield
            return
        begun: list[Any] = []
        _quietly(lambda: begun.extend(self._begin_effect(trace, key)))
        error = ""
        try:
            yield
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            _quietly(lambda: _end_effect(trace, begun, error))

    def _begin_effect(self, trace: Any, key: str) -> tuple[Any, Any]:
        # a thread that the step has started knows nothing of its span
        lost = not trace.get_current_span().get_span_context().is_valid
        above = trace.set_span_in_context(self._span) if lost and self._span else None
        tracer = trace.get_tracer("nbresume", __version__)
        span = tracer.start_span(
            "effect", context=above, attributes={"nbresume.effect": key}
        )
        return span, _context().attach(trace.set_span_in_context(span))


def _end_effect(trace: Any, begun: list[Any], error: str) -> None:
    if not begun:
        return
    span, token = begun
    if trace.get_current_span() is span:
        _context().detach(token)
    if error:
        span.set_status(trace.StatusCode.ERROR, error)
        span.set_attribute("error.type", error)
    span.end()


def _tracing() -> Any:
    """Return OpenTelemetry's module for traces, if somebody has imported it."""
    return sys.modules.get("opentelemetry.trace")


def _context() -> Any:
    return sys.modules["opentelemetry.context"]


def _class_of(session: Session, step: str, phase: Phase) -> str:
    """Return the class of what a step ended with; in words if nothing tells."""
    if phase is Phase.REFUSED:
        raised = sys.exc_info()[1]
        return type(raised).__name__ if raised else "refused"
    history = session.journal.state.step(step)
    failed = history.attempt.failed if history and history.attempt else None
    return failed.error_type if failed else _HOW[phase]


def _quietly(act: Callable[[], None]) -> None:
    """Do what only concerns who watches."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - who watches fails no cell
        _log.debug("a span was not told: %s", type(error).__name__)
