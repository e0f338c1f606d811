"""Several writers on one chain: whatever happens, one gapless chain that all see."""

from datetime import UTC, datetime

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from nbresume.errors import ConflictError, Unavailable
from nbresume.model.envelope import Envelope
from nbresume.store.chain import Chain
from nbresume.store.memory import MemoryBackend
from nbresume.store.trust import Trust

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)


class ChainMachine(RuleBasedStateMachine):
    """Writers with views of their own, lost replies, failures and power cuts."""

    writers = Bundle("writers")

    @initialize()
    def begin(self):
        """Begin with an empty store."""
        self.backend = MemoryBackend()
        self.trust = Trust(b"k" * 32)
        self.count = 0
        self.views: dict[int, list[str]] = {}
        self.acknowledged: dict[int, str] = {}
        self.undecided: list[Envelope] = []

    @rule(target=writers)
    def join(self):
        """Let another writer begin, which has seen nothing."""
        number = len(self.views)
        self.views[number] = []
        return number

    @rule(writer=writers)
    def look(self, writer):
        """Let a writer read what it has not seen."""
        view = self.views[writer]
        found = self.trust.vouch(self.chain().follow(len(view) - 1))
        assert all(link.envelope is not None for link in found)
        view.extend(link.digest for link in found)

    @rule(writer=writers)
    def append(self, writer):
        """Let a writer append to what it has seen."""
        view, wanted = self.views[writer], self.envelope(writer)
        try:
            link = self.chain().append(wanted)
        except ConflictError:
            assert len(self.acknowledged) + len(self.undecided) > len(view)
            return
        self.acknowledge(link)
        view.append(link.digest)

    @rule(writer=writers, late=st.booleans())
    def fail(self, writer, late):
        """Let the device fail under an append, before or after it took effect."""
        wanted = self.envelope(writer)
        self.backend.fail_at("create", 1, Unavailable("failed"), late=late)
        try:
            self.chain().append(wanted)
        except (Unavailable, ConflictError) as error:
            if isinstance(error, Unavailable):
                self.undecided.append(wanted)

    @rule(index=st.integers(0, 20))
    def ask_again(self, index):
        """Let a writer whose append failed find out what became of it."""
        if not self.undecided:
            return
        wanted = self.undecided.pop(index % len(self.undecided))
        stood = self.chain().newest()
        try:
            link = self.chain().append(wanted)
        except ConflictError:
            return
        if stood is None or link.revision > stood:
            assert link.revision == (0 if stood is None else stood + 1)
        self.acknowledge(link)

    @rule()
    def lose_power(self):
        """Let everything be forgotten that was not durable."""
        self.backend.lose_power()

    @invariant()
    def nothing_acknowledged_is_lost(self):
        """Every acknowledged revision stands in one gapless chain, unchanged."""
        if not hasattr(self, "backend"):
            return
        links = self.trust.vouch(self.chain().follow(-1))
        newest = self.chain().newest()
        assert len(links) == (0 if newest is None else newest + 1)
        assert all(link.envelope is not None for link in links)
        for revision, nonce in self.acknowledged.items():
            assert links[revision].envelope.nonce == nonce

    def chain(self):
        """Return the chain as a process that has just started sees it."""
        return Chain(self.backend, self.trust, "c1")

    def envelope(self, writer):
        """Return what the writer would append to what it has seen."""
        view = self.views[writer]
        self.count += 1
        return Envelope(
            id="c1",
            run_id="",
            revision=len(view),
            kind="acme.order",
            schema_version=1,
            payload={"by": writer},
            updated_at=NOW,
            nonce=f"{writer}-{self.count}",
            prev=view[-1] if view else "",
        )

    def acknowledge(self, link):
        """Note that a writer was told that it won; nobody else may have been."""
        nonce = self.acknowledged.setdefault(link.revision, link.envelope.nonce)
        assert nonce == link.envelope.nonce


TestChainMachine = ChainMachine.TestCase
TestChainMachine.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
