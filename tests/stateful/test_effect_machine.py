"""Two kernels whose effects are killed, fail, are fenced, settled and made again.

The judge is the outside: a ledger of calls, and what people have allowed.
"""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from unit.run.fakes import Killed, Lab

import nbresume
from nbresume.errors import NbresumeError
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer

RUN = "f" * 16
CELL = """%%step pay
usage(tokens=1)
n = {0}
a = effect('a', call, 'a')
at('between')
try:
    b = effect('b', call, 'b')
except ConnectionError:
    b = None
at('below')"""
PLACES = ("before a", "in a", "between", "before b", "in b", "below", "nowhere")
EVENTS = ("dies", "raises", "is lost", "exits", "is fenced")
KERNELS = st.integers(0, 1)
KEYS = ("a", "b")


class EffectMachine(RuleBasedStateMachine):
    """Two kernels over one store, and an outside that counts."""

    @initialize()
    def begin(self):
        """Begin with an empty store and an outside that nobody has touched."""
        self.lab = Lab(pay=CELL.format(1))
        self.lab.tools |= {
            "effect": nbresume.effect,
            "usage": nbresume.usage,
            "call": self._call,
            "at": self._at,
        }
        self.kernels = [self.lab.kernel(run_id=RUN) for _ in range(2)]
        self.place, self.event, self.number = "nowhere", "", 0
        self.most = 0
        """So many calls the outside may have seen when the cell has ended."""
        self.calls: list[tuple[str, str]] = []
        """(key, idempotency key) of each call that the outside saw."""
        self.allowed = Counter(dict.fromkeys(KEYS, 1))
        self.given: set[str] = set()
        self.used = 0

    # -- the outside ----------------------------------------------------------------

    def _call(self, key):
        self._at(f"before {key}")
        self.calls.append((key, nbresume.idempotency_key()))
        self._at(f"in {key}")
        return f"{key}{len(self.calls)}"

    def _at(self, place):
        if place != self.place:
            return
        self.place = "nowhere"
        match self.event:
            case "dies":
                raise Killed
            case "raises":
                raise TimeoutError
            case "is lost":
                raise ConnectionError
            case "exits":
                raise SystemExit
            case "is fenced":
                other = self.alive(1 - self.number)
                other.journal.refresh()
                other.parts.claims.ensure(other.session.order(), take_over=True)
                # the call that stands before the outside is on record already
                self.most = len(self.calls) + place.startswith("before")

    def alive(self, number):
        """Return the kernel, started again if its process has ended."""
        if self.kernels[number].is_dead:
            self.kernels[number] = self.lab.kernel(run_id=RUN)
        return self.kernels[number]

    def history(self):
        """Return what is on record about the step, as a fresh process reads it."""
        return self.lab.inspect(RUN).journal.state.step("pay")

    def open_keys(self):
        """Return the keys of open effects."""
        history = self.history()
        known = history.effects if history else {}
        return [key for key, effect in known.items() if effect.is_open]

    # -- what people and machines do --------------------------------------------------

    @rule(number=KERNELS, place=st.sampled_from(PLACES), event=st.sampled_from(EVENTS))
    def run(self, number, place, event):
        """Run the cell; something happens somewhere on its way, or nothing."""
        self.number, self.place, self.event = number, place, event
        self.most = 10**6
        before, opened = len(self.calls), self.open_keys()
        outcome = self.alive(number).run("pay")
        assert len(self.calls) <= self.most
        if outcome.how in ("refused", "replayed"):
            assert len(self.calls) == before
        if outcome.how == "fenced":
            self.kernels[number].kill()
        if outcome.how in ("ran", "failed"):
            assert self.lab.inspect(RUN).view().usage.tokens > self.used
        if outcome.how == "ran":
            assert set(self.open_keys()) <= set(opened)

    @rule(number=KERNELS)
    def end(self, number):
        """End a kernel between cells."""
        self.alive(number).kill()

    @rule(number=st.integers(1, 9))
    def edit(self, number):
        """Change a line of the cell that has nothing to do with its effects."""
        self.lab.edit(pay=CELL.format(number))

    def decide(self, number, decision):
        """Let a person decide; say whether that was accepted."""
        try:
            decision(self.alive(number).parts.recovery)
        except NbresumeError:
            return False
        return True

    @rule(number=KERNELS)
    def retry(self, number):
        """Let a person allow one more attempt, which calls what is open once."""
        opened = self.open_keys()
        answer = Answer(How.RETRY, "looked")
        if self.decide(number, lambda recovery: recovery.resolve("pay", answer)):
            self.allowed.update(opened)

    @precondition(lambda self: self.open_keys())
    @rule(number=KERNELS, data=st.data())
    def evidence(self, number, data):
        """Let a person say that an effect did happen, and give its result."""
        key = data.draw(st.sampled_from(self.open_keys()))
        result = f"{key}0"
        answer = Answer(How.EVIDENCE, "seen", effect=key, result=(result,))
        if self.decide(number, lambda recovery: recovery.resolve("pay", answer)):
            self.given.add(result)

    @rule(number=KERNELS, again=st.sampled_from(["", "a", "all"]))
    def rerun(self, number, again):
        """Let a person unlock the step, and perhaps some of its effects."""
        history = self.history()
        known = set(history.effects) if history else set()
        wanted = [again] if again else []
        decided = self.decide(
            number, lambda r: r.rerun("pay", because="asked", again=wanted)
        )
        if decided and again:
            self.allowed.update(known if again == "all" else [again])

    # -- what always holds -------------------------------------------------------------

    @invariant()
    def nothing_is_called_more_often_than_allowed(self):
        """See P5: at most once per authorised attempt."""
        called = Counter(key for key, _ in self.calls)

        assert all(called[key] <= self.allowed[key] for key in KEYS), (
            called,
            self.allowed,
        )

    @invariant()
    def an_open_effect_commits_nothing(self):
        """See P6: what may have happened stays in doubt until somebody decides."""
        view = self.lab.inspect(RUN).view()
        step = next(step for step in view.steps if step.name == "pay")
        history = self.history()
        attempt = history.attempt if history else None
        is_settled = attempt is not None and attempt.resolution is not None
        if step.open_effects and not is_settled and step.state is not State.RUNNING:
            assert step.state in (State.AMBIGUOUS, State.COMMITTED, State.STALE)

    @invariant()
    def each_generation_has_one_key(self):
        """See calls of one key with another idempotency key only if made again."""
        for key in KEYS:
            ids = {once for called, once in self.calls if called == key}
            history = self.history()
            effect = history.effects.get(key) if history else None
            assert len(ids) <= (effect.generation + 1 if effect else 1)

    @invariant()
    def usage_never_decreases(self):
        """See P11: also not when attempts are killed, fenced or repeated."""
        usage = self.lab.inspect(RUN).view().usage
        assert usage.tokens >= self.used
        self.used = usage.tokens

    @invariant()
    def a_committed_result_was_given_by_the_outside(self):
        """See that what the step holds came from a call or from a person."""
        for kernel in self.kernels:
            if kernel.is_dead or "a" not in kernel:
                continue
            value = kernel["a"]
            known = {f"{key}{n}" for n, (key, _) in enumerate(self.calls, 1)}
            assert value in known | self.given


@pytest.mark.long
class TestManyEffects(EffectMachine.TestCase):
    """As many as it takes minutes to look for."""

    settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


TestEffects = EffectMachine.TestCase
TestEffects.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
