"""`--when EXPR`: whether a step is taken is decided once, on record.

The rule: a decision holds while what its expression reads is the same, in whichever
kernel; then it is not evaluated again. A step that is not taken leaves nothing: what
it left when it was taken stands nowhere, and steps below go on without it.
"""

from typing import Any, cast

from msgspec.structs import replace

from nbresume.capture.entries import Made
from nbresume.capture.live import Live
from nbresume.errors import NbresumeError, RefusedError
from nbresume.model.records import Branch
from nbresume.plan.key import Cues
from nbresume.plan.paths import is_bare, paths_in, texts_of
from nbresume.run.claims import Claims
from nbresume.run.conditions import FILE, Condition, condition_of
from nbresume.run.file_states import version_of
from nbresume.run.inputs import Inputs
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.standing import Brought, Standing


class Branches:
    """Decides which steps of one run are taken, in one kernel."""

    def __init__(
        self, live: Live, inputs: Inputs, claims: Claims, journal: Journal, world: World
    ) -> None:
        self._live = live
        self._inputs = inputs
        self._claims = claims
        self._journal = journal
        self._world = world

    def is_taken(self, standing: Standing) -> bool:
        """Say whether a step is taken; decide it, on record, if that is open.

        Raises
        ------
        RefusedError
            The expression failed or changed a value, or what it reads cannot be
            brought to the step's position.
        """
        former = standing.history.branch if standing.history else None
        condition = condition_of(standing.header.when)
        if condition is None:
            if former is not None and not former.taken:
                self._record(standing, Branch(step=standing.step, taken=True))
            return True
        asked = replace(
            standing,
            names=condition.names,
            header=replace(standing.header, after=(), reads=()),
        )
        brought = self._inputs.bring(asked, self._journal.state)
        self._inputs.check_kept(brought)
        inputs = brought.inputs | self._files(condition, brought)
        then = (former.condition, former.inputs) if former is not None else None
        if former is not None and then == (condition.digest, inputs):
            return former.taken
        taken = self._evaluate(standing, condition, brought)
        self._record(
            standing,
            Branch(
                step=standing.step,
                cell_id=standing.cell[0],
                condition=condition.digest,
                inputs=inputs,
                cells=self._cells(brought),
                taken=taken,
                actor=self._world.liveness.actor(),
            ),
        )
        return taken

    def _files(self, condition: Condition, brought: Brought) -> dict[str, str]:
        """Return the versions of files that the expression names, there or not."""
        texts = set(condition.names.strings)
        for name in brought.inputs:
            texts.update(texts_of(self._live.namespace.get(name)))
        disk, found = self._world.disk, {}
        for path in paths_in(texts):
            name = disk.name(path)
            if name and (not is_bare(path) or disk.stamp(name)):
                found[FILE + name] = version_of(disk.state(name))
        return found

    def _cells(self, brought: Brought) -> list[tuple[str, str]]:
        """Return the plain cells that made what the expression reads."""
        entries = [self._live.entry(name) for name in brought.inputs]
        cells = [c for e in entries if e.made is Made.AMBIENT for c in e.cells]
        return list(dict.fromkeys(cells))

    def _evaluate(
        self, standing: Standing, condition: Condition, brought: Brought
    ) -> bool:
        live = self._live
        touched = live.touched(brought.inputs)
        for name in touched:
            live.look(name)
        try:
            # the author's own expression, in the notebook's names, as the cell's code
            names = cast("dict[str, Any]", live.namespace)
            taken = bool(eval(condition.code, names))  # noqa: S307
        except NbresumeError:
            raise
        except Exception as error:
            raise _refused(
                standing, f"its condition raised {type(error).__name__}: {error}"
            ) from error
        changed = live.changed(touched)
        if changed:
            told = ", ".join(sorted(changed))
            raise _refused(standing, f"its condition changed {told}")
        return taken

    def _record(self, standing: Standing, branch: Branch) -> None:
        self._claims.ensure(standing.order)
        self._journal.append(branch)

    def leave_out(self, standing: Standing) -> None:
        """Bring the names that a step left to where they stand without it."""
        history = standing.history
        commit = history.commits.get(history.current) if history else None
        left = {*commit.record.outputs, *commit.record.not_kept} if commit else set()
        own = frozenset(left.union(self._live.left_by(standing.step)))
        cues = Cues(code_version=standing.code_version)
        self._inputs.clear_own(Brought(standing, {}, cues, own, {}, {}))
        self._world.screen.say(
            f"step {standing.step} is not taken: {standing.header.when} is false"
        )


def _refused(standing: Standing, because: str) -> RefusedError:
    return RefusedError(
        f"step {standing.step} was not run",
        because=because,
        remedy="Let --when be an expression that reads what is set above, and changes "
        "nothing.",
        step=standing.step,
    )
