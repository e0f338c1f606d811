"""Steps that act on an outside which writes down what was done to it."""

import asyncio
import threading
from concurrent.futures import Future

from unit.run.fakes import Killed, Lab

import nbresume
from nbresume.model.records import EffectDone, EffectOpened

PAY = "%%step pay\nreceipt = effect('charge', remote.charge, 100)\nlater()"


class Timeout(Exception):  # noqa: N818 - as remotes call it
    """The remote did not answer in time."""


class Declined(Exception):  # noqa: N818 - as remotes call it
    """The remote said no."""


class Remote:
    """The outside: writes down what was done to it, and with which key."""

    def __init__(self):
        self.ledger = []
        self.keys = []
        self.error = None
        """Raised after it has acted."""
        self.refusal = None
        """Raised instead of acting."""

    def charge(self, amount):
        """Take money; return a receipt."""
        if self.refusal:
            raise self.refusal
        self.ledger.append(amount)
        self.keys.append(nbresume.idempotency_key())
        if self.error:
            raise self.error
        return {"id": f"ch_{len(self.ledger)}", "amount": amount}


def lab_of(remote, **cells):
    """Return a lab whose cells know the remote and the public functions."""
    lab = Lab(**cells)
    lab.tools |= {
        "remote": remote,
        "effect": nbresume.effect,
        "usage": nbresume.usage,
        "idempotency_key": nbresume.idempotency_key,
        "later": lambda: None,
        "Timeout": Timeout,
        "Declined": Declined,
        "threading": threading,
        "asyncio": asyncio,
        "Future": Future,
    }
    return lab


def raises(error):
    """Return a function that raises."""

    def later():
        raise error

    return later


def effects_of(k, step="pay"):
    """Return the effects of a step as the folded state has them."""
    return k.journal.state.steps[step].effects


def records(k, kind):
    """Return the effect records of one kind, oldest first."""
    kinds = {EffectOpened.KIND, EffectDone.KIND}
    links = [link.envelope for link in k.journal.envelopes()]
    return [e.payload for e in links if e.kind in kinds and e.kind == kind.KIND]


def cut_off(remote, options="", error=None):
    """Return a lab whose kernel died, or whose call raised, inside the effect."""
    remote.error = error or Killed()
    lab = lab_of(remote, pay=PAY.replace("effect(", f"effect{options}("))
    lab.kernel().go()
    remote.error = None
    return lab


def committed(remote):
    """Return a lab and a kernel with the step committed."""
    lab = lab_of(remote, pay=PAY)
    k = lab.kernel()
    k.go()
    return lab, k
