"""Faults planted into effects: the ledger of the outside would tell each of them."""

import pytest
from unit.run.fakes import Killed
from unit.run.outside import PAY, lab_of, raises

from nbresume.model.values import How
from nbresume.run.effects import Effects, _Next
from nbresume.run.outcomes import Outcomes
from nbresume.run.recovery import Answer
from nbresume.run.scope import Scopes


def killed_in_the_call(remote):
    """Return how often the outside was charged when nobody decided anything."""
    remote.error = Killed()
    lab = lab_of(remote, pay=PAY)
    lab.kernel().go()
    remote.error = None
    lab.kernel().go()
    return len(remote.ledger)


def failed_below(remote):
    """Return how often it was charged when a later line failed and was corrected."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    lab.edit(pay=PAY.replace("later()", "x = 1"))
    k.go()
    return len(remote.ledger)


def retried_once(remote):
    """Return how often it was charged by one attempt and one retry of it."""
    remote.error = Killed()
    lab = lab_of(remote, pay=PAY)
    lab.kernel().go()
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.RETRY, "looked"))
    k.go()
    lab.kernel().go()
    return len(remote.ledger)


def fenced(remote):
    """Return how often a kernel charged that was fenced before its effect."""
    lab = lab_of(remote, pay=PAY.replace("pay\n", "pay\nlater()\n", 1))

    def taken_over():
        other = lab.kernel()
        other.parts.claims.ensure(other.session.order(), take_over=True)

    lab.tools["later"] = taken_over
    lab.kernel().go()
    return len(remote.ledger)


def called_in_a_plain_cell(remote):
    """Return how often it was charged outside of a step."""
    lab = lab_of(remote, a="%%step a\nx = 1", b="effect('c', remote.charge, 1)")
    lab.kernel().go()
    return len(remote.ledger)


RIGHT = {
    killed_in_the_call: 1,
    failed_below: 1,
    retried_once: 2,
    fenced: 0,
    called_in_a_plain_cell: 0,
}


@pytest.mark.parametrize("history", RIGHT, ids=lambda history: history.__name__)
def test_the_ledger_is_right(remote, history):
    """At most one call for each authorised attempt."""
    assert history(remote) == RIGHT[history]


def no_open_record(patch):
    """Call effects without a record that says so, and without the fence."""

    def opens(self, scope, call):
        call.started_s = 0.0

    patch.setattr(Outcomes, "open", opens)


def no_look_at_the_record(patch):
    """Each call is taken for the first one."""

    def calls(self, scope, call):
        call.generation, call.idempotency_key = 0, "k"
        return _Next.CALL

    patch.setattr(Effects, "_next", calls)


def a_retry_without_an_end(patch):
    """Never doubt an open effect, and always allow to call it again."""
    patch.setattr("nbresume.model.effects.doubtful_keys", lambda *_: [])
    patch.setattr(Effects, "_repeat", lambda *_: _Next.CALL)


def an_attempt_without_an_end(patch):
    """Whoever was a part of a step is one for ever."""
    begin, scopes = Scopes.begin, []

    def remembers(self, running, repeats):
        begin(self, running, repeats)
        scopes.append(self._running)

    patch.setattr(Scopes, "begin", remembers)
    patch.setattr(Scopes, "end", lambda self: None)
    patch.setattr(Scopes, "current", lambda self, refused: scopes[-1])


@pytest.mark.parametrize(
    ("history", "plant"),
    [
        (killed_in_the_call, no_open_record),
        (fenced, no_open_record),
        (failed_below, no_look_at_the_record),
        (killed_in_the_call, a_retry_without_an_end),
        (called_in_a_plain_cell, an_attempt_without_an_end),
    ],
)
def test_a_planted_fault_is_noticed(remote, monkeypatch, history, plant):
    """With the fault the outside is charged more often than the history allows."""
    plant(monkeypatch)

    assert history(remote) > RIGHT[history]
