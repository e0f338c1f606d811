"""Runs in every state that people can see: what the golden views are made of."""

from unit.run.fakes import Killed, Lab, erase_by_hand

from nbresume import effect
from nbresume.compose.inspection import Inspection
from nbresume.errors import Unavailable
from nbresume.model.values import How
from nbresume.run.explaining import Explained, Plan
from nbresume.run.recovery import Answer
from nbresume.run.stored import StoredStep
from nbresume.run.view import RunView
from nbresume.store.trust import Trust
from nbresume.ui.replies import planned

CELLS = {
    "setup": "k = 1",
    "load": "%%step load\nx = k",
    "mail": "%%step mail --effects\nwork()\nsent = x",
    "fit": "%%step fit --after load\ny = x",
}


def _lab(work):
    lab = Lab(**CELLS)
    lab.tools["work"] = work
    return lab


def _nothing():
    return None


def _raises():
    raise ValueError


def _dies():
    raise Killed


def new() -> RunView:
    """Return the view when nothing has run."""
    return _lab(_nothing).kernel().view()


def empty() -> RunView:
    """Return the view when the notebook has no steps."""
    return Lab(setup="k = 1").kernel().view()


def committed() -> RunView:
    """Return the view when all steps are committed, by this kernel."""
    lab = _lab(lambda: lab.clock.advance(90.5))
    k = lab.kernel()
    k.go()
    return k.view()


def not_taken() -> RunView:
    """Return the view when the condition of a step is false."""
    lab = _lab(_nothing)
    lab.edit(fit="%%step fit --when 'x > 1'\ny = x", last="%%step last\nz = x")
    k = lab.kernel()
    k.go()
    return k.view()


def running() -> RunView:
    """Return the view when another kernel runs the second step."""
    seen = []
    lab = _lab(lambda: seen.append(lab.kernel().view()))
    lab.kernel().go("setup", "load", "mail")
    return seen[0]


def ran() -> RunView:
    """Return the view when the second step's body finished; its commit failed."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go("setup", "load")
    lab.backend.fail_at("write", 1, Unavailable("the disk is full"))
    k.go("mail")
    return k.view()


def failed() -> RunView:
    """Return the view when the second step raised."""
    k = _lab(_raises).kernel()
    k.go()
    return k.view()


def ambiguous() -> RunView:
    """Return the view when the kernel died inside the step with effects."""
    lab = _lab(_dies)
    lab.kernel().go()
    return lab.kernel().view()


def effects() -> RunView:
    """Return the view when a step made one effect and was killed in another."""
    lab = _lab(_dies)
    lab.tools["effect"] = effect
    text = "%%step mail\neffect('to-a', list)\neffect('to-b', work)\nsent = x"
    lab.edit(mail=text)
    lab.kernel().go()
    return lab.kernel().view()


def interrupted() -> RunView:
    """Return the view when the kernel died inside a step that declared nothing."""
    lab = _lab(_nothing)
    lab.edit(fit="%%step fit --after load\ny = x\ndie()")
    lab.kernel().go()
    return lab.kernel().view()


def looping() -> RunView:
    """Return the view when the kernel died inside a loop that had saved progress."""
    lab = _lab(_nothing)
    lab.edit(
        fit="%%step fit --after load\nfrom nbresume import resumable\ny = x\n"
        "for n in resumable(range(1000), every=300, bar=False):\n"
        "    if n == 700:\n        die()"
    )
    lab.kernel().go()
    return lab.kernel().view()


def abandoned() -> RunView:
    """Return the view when a person gave the step in doubt up."""
    lab = _lab(_dies)
    lab.kernel().go()
    k = lab.kernel()
    k.parts.recovery.resolve("mail", Answer(How.ABANDON, "it was a test"))
    return k.view()


def evidence() -> RunView:
    """Return the view when a person proved that the step in doubt had happened."""
    lab = _lab(_dies)
    lab.kernel().go()
    k = lab.kernel()
    answer = Answer(How.EVIDENCE, "received", names_not_kept=["sent"])
    k.parts.recovery.resolve("mail", answer)
    return k.view()


def stale() -> RunView:
    """Return the view when the first step was edited: those below may change."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    lab.edit(load="%%step load\nx = k + 1")
    return k.view()


def erased() -> RunView:
    """Return the view when a step that acted, and one that did not, were erased."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    for step in ("load", "mail"):
        erase_by_hand(k, step)
    return k.view()


def always() -> RunView:
    """Return the view when the first step, which the others read, runs each time."""
    lab = _lab(_nothing)
    lab.edit(load="%%step load --always\nx = k")
    lab.kernel().go("setup", "load", "mail")
    return lab.kernel().view()


def orphaned() -> RunView:
    """Return the view when the last step's cell was deleted."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    lab.delete("fit")
    return k.view()


def automatic() -> RunView:
    """Return the view of a notebook in which every cell is a step, none run yet."""
    lab = Lab(
        auto="%nbresume auto",
        c1="# the rows of June\nrows = list(range(3))",
        c2="total = sum(rows)",
        named="%%step fit\ny = total",
    )
    return lab.kernel().view()


def forked() -> RunView:
    """Return the view of a fork behind the first step."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    k.fork("load", yes=True)
    return k.view()


def damaged() -> RunView:
    """Return the view when a commit's record is damaged."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    k.kill()
    lab.backend.files[f"journal/{k.run_id}/{6:010d}.rec"] = b"{"
    return lab.kernel().view()


def foreign() -> RunView:
    """Return the view when the store was written under another key."""
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    lab.processes["process-100"] = None
    lab.trust = Trust(b"o" * 32)
    return lab.inspect(k.run_id).view()


GOLDEN = {
    view.__name__: view
    for view in (
        new,
        empty,
        committed,
        running,
        ran,
        failed,
        ambiguous,
        effects,
        interrupted,
        looping,
        abandoned,
        evidence,
        stale,
        erased,
        always,
        orphaned,
        not_taken,
        automatic,
        forked,
        damaged,
        foreign,
    )
}


def step() -> StoredStep:
    """Return what a step stored: a value, one that was not kept, a display."""
    lab = Lab(load="%%step load\nx = [1, 2]\nz = (n for n in x)\nprint('two rows')")
    k = lab.kernel()
    k.go()
    return lab.inspect(k.run_id).stored("load")


def _edited() -> Inspection:
    lab = _lab(_nothing)
    k = lab.kernel()
    k.go()
    lab.edit(load="%%step load\nx = k + 1")
    return lab.inspect(k.run_id)


def plan() -> Plan:
    """Return the plan when the first step was edited."""
    return planned(_edited().view())


def explained() -> Explained:
    """Return why the step with effects below it would run, and is refused."""
    return _edited().explain("mail")


def explained_edit() -> Explained:
    """Return why the first step would run: line by line what was edited."""
    return _edited().explain("load")


TOLD = {told.__name__: told for told in (step, plan, explained, explained_edit)}
"""What the server tells beside the view."""
