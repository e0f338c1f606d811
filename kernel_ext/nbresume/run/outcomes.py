"""What is recorded of effects: that one is called, how it ended, what it gave back.

The rule: the open record is durable before the call, and its append is the check of the
fence; a result is durable before the record that names it. A step that has ended
records nothing more.
"""

from datetime import datetime
from typing import Any

from nbresume.capture.live import Live
from nbresume.errors import EffectNotKept, EffectRefused, NbresumeError, StoreError
from nbresume.model.effects import EffectHistory, open_keys, typed
from nbresume.model.records import EffectDone, EffectOpened
from nbresume.model.values import Ended, Evidence
from nbresume.run import results
from nbresume.run.calls import Call
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.restore import Restorer
from nbresume.run.scope import Scope
from nbresume.run.ways import settle


class Outcomes:
    """Reads and writes the records of effects of one run."""

    def __init__(
        self, live: Live, restorer: Restorer, journal: Journal, world: World
    ) -> None:
        self._live = live
        self._restorer = restorer
        self._journal = journal
        self._world = world

    # -- reading ----------------------------------------------------------------

    def known(self, scope: Scope) -> dict[str, EffectHistory]:
        """Return the effects of the attempt's step by key."""
        history = self._journal.state.step(scope.step)
        return history.effects if history else {}

    def unsettled(self, scope: Scope) -> list[str]:
        """Return the keys of open effects that stand against a commit.

        One of an earlier attempt does not, if somebody allowed it to be called again.
        """
        known = self.known(scope)
        return [
            key
            for key in open_keys(known)
            if key not in scope.repeats or self.is_mine(scope, known[key])
        ]

    @staticmethod
    def is_mine(scope: Scope, effect: EffectHistory) -> bool:
        """Say whether this attempt made the newest call of an effect."""
        return effect.opened is not None and effect.opened.attempt == scope.attempt

    def now(self) -> datetime | None:
        """Return the time; None if the clock is behind what is recorded."""
        return self._journal.state.trusted_time(self._world.clock.now())

    def result(self, scope: Scope, call: Call) -> Any:
        """Return a recorded result.

        Raises
        ------
        EffectNotKept
            It could not be kept, or cannot be read any more.
        """
        done = self.known(scope)[call.key].done
        if done is None or (done.result is None and not done.not_kept):
            return None
        because = done.not_kept
        if done.result is not None:
            try:
                return self._restorer.alone(done.result, self._definition)
            except NbresumeError as error:
                because = str(error)
        raise EffectNotKept(
            f"the effect {call.key!r} of step {scope.step} is done and not repeated; "
            "its result is not here",
            because=because,
            remedy="Let its function return what can be kept, such as an id. To do it "
            f"anew: %steps rerun {scope.step} --again {typed(call.key)} --because TEXT",
            step=scope.step,
            key=call.key,
        )

    def _definition(self, name: str) -> Any:
        self._live.load(name)
        if name in self._live.namespace:
            return self._live.namespace[name]
        raise EffectNotKept(
            "it was not rebuilt",
            because=f"it needs {name}, which the notebook defined when it was recorded",
            remedy=f"Define {name} above the step, then run it again.",
            name=name,
        )

    # -- writing ----------------------------------------------------------------

    def open(self, scope: Scope, call: Call) -> None:
        """Make the open record durable; afterwards the call may be made.

        Raises
        ------
        FencedError
            Another kernel took the run over.
        EffectRefused
            The step has ended.
        """
        options = call.options
        let_through = self._world.interrupts.defer()
        try:
            with self._journal.lock:
                _check_running(scope, f"the effect {call.key!r} was not called")
                known = self.known(scope).get(call.key)
                former = known.opened if known and known.is_open else None
                call.number = scope.records = scope.records + 1
                record = EffectOpened(
                    step=scope.step,
                    attempt=scope.attempt,
                    number=call.number,
                    key=call.key,
                    generation=call.generation,
                    function=getattr(call.fn, "__qualname__", type(call.fn).__name__),
                    arguments_digest=call.digest,
                    idempotency_key=call.idempotency_key,
                    idempotent=options.idempotent,
                    ttl_s=options.ttl_s,
                    lookup=options.lookup is not None,
                    repeats=former.attempt if former else "",
                )
                self._journal.append(record, attempt=scope.attempt)
        finally:
            let_through()
        call.started_s = self._world.clock.monotonic_s()

    def done(
        self, scope: Scope, call: Call, result: Any, evidence: Evidence | None = None
    ) -> None:
        """Record that an effect happened; its result too, if it can be kept.

        Raises
        ------
        FencedError
            Another kernel took the run over; the effect stays open.
        EffectRefused
            The step has ended; the effect stays open.
        """
        let_through = self._world.interrupts.defer()
        try:
            kept = self._keep(scope, call, result)
            record = self._record(scope, call, Ended.DONE, kept, evidence=evidence)
            self._append(scope, record)
        finally:
            let_through()
        if kept.not_kept:
            self._world.screen.say(
                f"effect {call.key!r} is done; its result cannot be kept "
                f"({kept.not_kept}), so a replay of it will be refused"
            )
        self._publish(record)

    def not_done(self, scope: Scope, call: Call, how: Ended, error_type: str) -> None:
        """Record that an effect did surely not happen.

        Raises
        ------
        FencedError
            Another kernel took the run over; the effect stays open.
        EffectRefused
            The step has ended; the effect stays open.
        """
        let_through = self._world.interrupts.defer()
        try:
            kept = results.Kept()
            record = self._record(scope, call, how, kept, error_type=error_type)
            self._append(scope, record)
        finally:
            let_through()

    def _keep(self, scope: Scope, call: Call, result: Any) -> results.Kept:
        if not call.number:
            # found by a lookup: this attempt did not call it
            with self._journal.lock:
                call.number = scope.records = scope.records + 1
        return results.keep(
            result,
            group=f"{scope.attempt}-effect-{call.number}",
            journal=self._journal,
            definitions=results.definitions_in(self._live),
            namespace=self._live.namespace,
        )

    def _record(
        self,
        scope: Scope,
        call: Call,
        how: Ended,
        kept: results.Kept,
        *,
        error_type: str = "",
        evidence: Evidence | None = None,
    ) -> EffectDone:
        now_s = self._world.clock.monotonic_s()
        return EffectDone(
            step=scope.step,
            attempt=scope.attempt,
            number=call.number,
            key=call.key,
            generation=call.generation,
            how=how,
            error_type=error_type,
            result=kept.ref,
            not_kept=kept.not_kept,
            awaited=call.awaited,
            duration_s=now_s - call.started_s if call.started_s is not None else 0.0,
            evidence=evidence,
        )

    def _append(self, scope: Scope, record: EffectDone) -> None:
        with self._journal.lock:
            _check_running(
                scope, f"the outcome of effect {record.key!r} was not recorded"
            )
            self._journal.append(record, attempt=scope.attempt)

    def _publish(self, record: EffectDone) -> None:
        try:
            results.publish(self._journal, record)
        except StoreError as error:
            self._world.screen.say(
                f"effect {record.key!r} is done, but its zarr metadata was not written "
                f"({error})"
            )


def _check_running(scope: Scope, refused: str) -> None:
    if scope.is_over:
        raise EffectRefused(
            refused,
            because=f"step {scope.step} has ended meanwhile",
            remedy="Wait for tasks and threads in the step that starts them. What is "
            f"open now is settled by {settle(scope.step, [])}",
            step=scope.step,
        )
