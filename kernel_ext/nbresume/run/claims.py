"""Who writes the run: claim, take-over, and the offer that liveness allows.

The rule: safety comes from the epoch in the chain; liveness (host, boot, pid, start
of the process) only decides whether a take-over is done, offered or refused.
"""

from collections.abc import Callable
from enum import StrEnum

from nbresume.errors import ConflictError, TakenRun
from nbresume.model.histories import Attempt
from nbresume.model.records import Claim, Forked
from nbresume.model.states import Claimant, Outcome
from nbresume.model.values import Origin
from nbresume.run.definition import definition_digest, differences
from nbresume.run.journal import Journal
from nbresume.run.order import Order
from nbresume.run.ports import World


class Offer(StrEnum):
    """What a kernel that wants to run a step may do about the claim."""

    MINE = "it is mine"
    FREE = "nobody holds it, or a dead kernel"
    IDLE = "another kernel holds it and is idle"
    BUSY = "another kernel holds it and runs a step"
    UNKNOWN = "another kernel holds it and cannot be asked from here"
    FENCED = "another kernel took it from this one"


class Claims:
    """The claim of one run, as this process sees and makes it."""

    def __init__(self, journal: Journal, world: World) -> None:
        self._journal = journal
        self._world = world
        self._after_claim: list[Callable[[], None]] = []
        self._given_up = -1
        """Epoch whose kernel counts as gone, whatever can be seen of it."""

    def give_up_holder(self) -> None:
        """Take the kernel that holds the run now for gone; not one that comes later.

        A person's word (``--take-over``): it is fenced by the next claim if it is not.
        """
        self._given_up = self._journal.state.epoch

    def after_claim(self, redo: Callable[[], None]) -> None:
        """Have this called after each claim (redo what an earlier writer left)."""
        self._after_claim.append(redo)

    def is_alive(self) -> bool | None:
        """Say whether the claimant's process runs; None when it cannot be known."""
        claim = self._journal.state.claim
        if claim is None or self._journal.state.epoch == self._given_up:
            return False
        return self._world.liveness.is_alive(claim.writer)

    def offer(self) -> Offer:
        """Return what this kernel may do about the claim."""
        if self._journal.is_claimant:
            return Offer.MINE
        alive = self.is_alive()
        if alive is False:
            return Offer.FREE
        if self._journal.was_fenced:
            return Offer.FENCED
        if alive is None:
            return Offer.UNKNOWN
        return Offer.BUSY if self._open_attempt() else Offer.IDLE

    def claimant_of(self, attempt: Attempt) -> Claimant:
        """Return how the kernel that ran an attempt looks from here."""
        if attempt.epoch != self._journal.state.epoch:
            return Claimant.GONE
        if self._journal.is_claimant:
            return Claimant.ALIVE
        return {True: Claimant.ALIVE, False: Claimant.GONE, None: Claimant.UNKNOWN}[
            self.is_alive()
        ]

    def _open_attempt(self) -> Attempt | None:
        state = self._journal.state
        return next(
            (
                history.attempt
                for history in state.steps.values()
                if history.attempt is not None
                and history.attempt.outcome is Outcome.OPEN
                and history.attempt.epoch == state.epoch
                and history.attempt.resolution is None
            ),
            None,
        )

    def ensure(self, order: Order, *, take_over: bool = False) -> None:
        """Make this process the claimant; nothing is written if it is already.

        Raises
        ------
        TakenRun
            Another kernel holds the run and runs a step, or cannot be asked.
        FencedError
            The run was migrated and goes on in another chain.
        """
        offer = self.offer()
        if offer is Offer.MINE:
            return
        self._journal.check_open()
        if offer in (Offer.BUSY, Offer.UNKNOWN, Offer.FENCED) and not take_over:
            raise self._taken(offer)
        former = self._journal.state.claim
        take_over = take_over or self._is_given_up_alive()
        if (offer is not Offer.FREE or take_over) and former is not None:
            self._world.screen.say(
                f"this kernel takes the run over from another kernel "
                f"(pid {former.writer.pid} on {former.writer.host})"
            )
        for told in differences(self._journal.state, order, self._world):
            self._world.screen.say(told)
        self._append(self._claim(order, take_over=take_over))

    def _is_given_up_alive(self) -> bool:
        claim, epoch = self._journal.state.claim, self._journal.state.epoch
        if claim is None or epoch != self._given_up:
            return False
        return self._world.liveness.is_alive(claim.writer) is not False

    def fork(self, order: Order, origin: Origin) -> None:
        """Begin a run that shares commits of another one.

        Raises
        ------
        TakenRun
            Another process began this run at the same moment.
        """
        claim = self._claim(order, take_over=False)
        said = {name: getattr(claim, name) for name in Claim.__struct_fields__}
        self._append(Forked(**said, origin=origin))

    def _append(self, claim: Claim) -> None:
        try:
            self._journal.claim(claim)
        except ConflictError as error:
            self._journal.refresh()
            raise TakenRun(
                "the run was not claimed",
                because="another kernel appended to it at the same moment",
                remedy="Run the cell again.",
                run_id=self._journal.run_id,
            ) from error
        for redo in self._after_claim:
            redo()

    def _claim(self, order: Order, *, take_over: bool) -> Claim:
        return Claim(
            workflow=self._world.notebook.workflow,
            notebook=self._world.notebook.path,
            cells=[c.cell_id for c in order.cells if c.cell_id],
            definition_digest=definition_digest(order),
            writer=self._world.liveness.me(),
            actor=self._world.liveness.actor(),
            took_over=take_over,
        )

    def _taken(self, offer: Offer) -> TakenRun:
        claim = self._journal.state.claim
        who = f"pid {claim.writer.pid} on {claim.writer.host}" if claim else "nobody"
        attempt = self._open_attempt()
        doing = f" and is running step {attempt.intent.step}" if attempt else ""
        if offer is Offer.FENCED:
            because = f"fenced: another kernel ({who}) took it from this one{doing}"
        elif offer is Offer.UNKNOWN:
            because = f"another kernel ({who}) holds it and cannot be asked from here"
        else:
            because = f"another kernel ({who}) holds it{doing}"
        return TakenRun(
            "nothing runs here: the run is taken",
            because=because,
            remedy="Wait for it, or type: %steps resume --take-over",
            run_id=self._journal.run_id,
        )
