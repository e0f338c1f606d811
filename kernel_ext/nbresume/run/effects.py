"""Effects: open on record → call → result on record → replayed ever after.

The rule: an effect is called only after its open record is durable, which is the check
of the fence too; what may have happened is never called again without evidence, a
remote that honors the key, or somebody's decision. Nothing here catches and goes on.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from concurrent.futures import Future
from enum import Enum, auto
from typing import Any

from nbresume.capture.live import Live
from nbresume.errors import AmbiguousStep, UsageError
from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest
from nbresume.model.effects import EffectHistory, typed
from nbresume.model.values import Ended, Evidence
from nbresume.run.calls import (
    Absent,
    Call,
    Happened,
    Options,
    arguments_digest,
    check,
    check_same,
    is_async,
)
from nbresume.run.intents import Running
from nbresume.run.journal import Journal
from nbresume.run.outcomes import Outcomes
from nbresume.run.ports import World
from nbresume.run.restore import Restorer
from nbresume.run.scope import Scope, Scopes


class _Next(Enum):
    """What the records allow to be done about a call."""

    REPLAY = auto()
    LOOK = auto()
    CALL = auto()


class Effects:
    """The effects of one run in one kernel."""

    def __init__(
        self, live: Live, restorer: Restorer, journal: Journal, world: World
    ) -> None:
        self._live = live
        self._journal = journal
        self._world = world
        self._outcomes = Outcomes(live, restorer, journal, world)
        self.scopes = Scopes()

    # -- the attempt ------------------------------------------------------------

    def begin(self, running: Running, repeats: frozenset[str]) -> None:
        """Let the body of an attempt, and what it starts, call effects.

        Parameters
        ----------
        running
            The attempt, whose intent is durable.
        repeats
            Open effects of earlier attempts that somebody allowed to be called again.
        """
        self.scopes.begin(running, repeats)

    def end(self) -> list[str]:
        """Let nothing of the attempt call effects any more.

        Returns
        -------
        list of str
            Keys of effects that are open, so that the step cannot be committed.

        """
        with self._journal.lock:
            scope = self.scopes.end()
            return self._outcomes.unsettled(scope) if scope else []

    def report(self, *, tokens: int, cost: float) -> None:
        """Count what the step's code used; the next record carries it.

        Raises
        ------
        EffectRefused
            The caller is a part of no running step.
        """
        self.scopes.current("usage was not counted")
        self._journal.report(tokens=tokens, cost=cost)

    # -- calling ----------------------------------------------------------------

    def call(
        self,
        key: str,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kw: dict[str, Any],
        options: Options,
    ) -> Any:
        """Return the recorded result of an effect, or call it and record that.

        An awaitable is returned if the function is a coroutine function.

        Raises
        ------
        EffectRefused
            It was not called: not here, or not with these arguments.
        EffectNotKept
            It is done, and its result could not be kept.
        AmbiguousStep
            It is open: it may or may not have happened.
        UsageError
            The key or the function cannot be used.
        FencedError
            Another kernel took the run over; nothing was called.
        """
        check(key, fn, args, kw)
        scope = self.scopes.current(f"the effect {key!r} was not called")
        digest = arguments_digest(args, kw, self._live.namespace)
        call = Call(key, fn, args, kw, options, digest)
        if is_async(fn):
            return self._call_async(scope, call)
        with self.scopes.on_its_way(scope, key):
            step = self._next(scope, call)
            if step is _Next.LOOK:
                step = self._judge(scope, call, self._look(call))
            if step is _Next.REPLAY:
                return self._replay(scope, call)
            self._outcomes.open(scope, call)
            with self._world.spans.effect(call.key):
                result = self._make(scope, call)
            if inspect.isawaitable(result):
                # the call goes on until that is awaited
                call.awaited = True
                return self._await(scope, call, result)
            return self._done(scope, call, result)

    def _make(self, scope: Scope, call: Call) -> Any:
        try:
            with self.scopes.within(call.idempotency_key):
                return call.fn(*call.args, **call.kw)
        except call.options.definite as error:
            self._outcomes.not_done(scope, call, Ended.FAILED, type(error).__name__)
            raise

    def _look(self, call: Call) -> Any:
        with self.scopes.within(call.idempotency_key):
            return call.look()

    def _done(self, scope: Scope, call: Call, result: Any) -> Any:
        if isinstance(result, Generator | AsyncGenerator | Future):
            raise UsageError(
                f"the effect {call.key!r} has no outcome",
                because=f"its function gave back a {type(result).__name__}, whose work "
                "is done later",
                remedy="Hand over a function that does all of its work when called.",
                step=scope.step,
                key=call.key,
            )
        self._outcomes.done(scope, call, result)
        return result

    def _replay(self, scope: Scope, call: Call) -> Any:
        value = self._outcomes.result(scope, call)
        done = self._outcomes.known(scope)[call.key].done
        return _ready(value) if done is not None and done.awaited else value

    # -- the same, awaited ------------------------------------------------------

    async def _call_async(self, scope: Scope, call: Call) -> Any:
        with self.scopes.on_its_way(scope, call.key):
            step = self._next(scope, call)
            if step is _Next.LOOK:
                with self.scopes.within(call.idempotency_key):
                    found = call.look()
                    found = await found if inspect.isawaitable(found) else found
                step = self._judge(scope, call, found)
            if step is _Next.REPLAY:
                return self._outcomes.result(scope, call)
            self._outcomes.open(scope, call)
            return await self._finish(scope, call, self._make(scope, call))

    async def _await(self, scope: Scope, call: Call, result: Awaitable[Any]) -> Any:
        with self.scopes.on_its_way(scope, call.key):
            return await self._finish(scope, call, result)

    async def _finish(self, scope: Scope, call: Call, begun: Awaitable[Any]) -> Any:
        try:
            within = self.scopes.within(call.idempotency_key)
            with self._world.spans.effect(call.key), within:
                result = await begun
        except call.options.definite as error:
            self._outcomes.not_done(scope, call, Ended.FAILED, type(error).__name__)
            raise
        return self._done(scope, call, result)

    # -- deciding ---------------------------------------------------------------

    def _next(self, scope: Scope, call: Call) -> _Next:
        known = self._outcomes.known(scope).get(call.key) or EffectHistory()
        call.generation = known.generation
        call.idempotency_key = self._key(scope, call, known)
        scope.running.effects[call.key] = None
        if known.is_open or known.is_done:
            check_same(call, known, scope.step)
        if known.is_done:
            return _Next.REPLAY
        if not known.is_open:
            return _Next.CALL
        if call.options.lookup is not None:
            return _Next.LOOK
        return self._repeat(scope, call, known)

    def _key(self, scope: Scope, call: Call, known: EffectHistory) -> str:
        if known.opened is not None:
            # also under the former name of a step that was renamed
            return known.opened.idempotency_key
        step_key = scope.running.intent.idempotency_key
        return cue_digest(canonical([step_key, call.key, call.generation]))

    def _repeat(self, scope: Scope, call: Call, known: EffectHistory) -> _Next:
        """Allow an open effect to be called again.

        Raises
        ------
        AmbiguousStep
            Nothing allows it.
        """
        mine = self._outcomes.is_mine(scope, known)
        allowed = call.key in scope.repeats and not mine
        honored = call.options.idempotent and known.is_honored(self._outcomes.now())
        if allowed or honored:
            return _Next.CALL
        raise AmbiguousStep(
            f"the effect {call.key!r} of step {scope.step} is ambiguous (in doubt) and "
            "was not called",
            because="an earlier call of it has no recorded outcome; it may or may not "
            "have happened",
            remedy=f"Look outside, then type %steps resolve {scope.step} retry "
            f"--because TEXT, or %steps resolve {scope.step} evidence --effect "
            f"{typed(call.key)} --because TEXT",
            step=scope.step,
            key=call.key,
        )

    def _judge(self, scope: Scope, call: Call, found: Any) -> _Next:
        """Record what a lookup found out.

        Raises
        ------
        AmbiguousStep
            It found out nothing, and nothing else allows a call.
        UsageError
            It answered in other words.
        """
        if found is None:
            return self._repeat(scope, call, self._outcomes.known(scope)[call.key])
        if isinstance(found, Absent):
            self._outcomes.not_done(scope, call, Ended.ABSENT, "")
            return _Next.CALL
        if isinstance(found, Happened):
            evidence = Evidence(
                kind="lookup",
                reference=found.reference,
                observed_at=self._world.clock.now(),
                names_not_kept=[],
            )
            self._outcomes.done(scope, call, found.result, evidence)
            return _Next.REPLAY
        if inspect.iscoroutine(found):
            found.close()
        raise UsageError(
            f"the lookup of effect {call.key!r} was not understood",
            because=f"it returned a {type(found).__name__}",
            remedy="Return effect.happened(result, reference=…), effect.absent(), or "
            "None if it cannot be known.",
            step=scope.step,
            key=call.key,
        )


async def _ready(value: Any) -> Any:
    return value
