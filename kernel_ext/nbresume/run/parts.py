"""The modules that the sequence joins, as one value."""

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Snapshot
from nbresume.run.branches import Branches
from nbresume.run.claims import Claims
from nbresume.run.commits import Commits
from nbresume.run.drift import Drift
from nbresume.run.effects import Effects
from nbresume.run.evidence import Evidence
from nbresume.run.file_states import Files
from nbresume.run.file_watch import FileWatch
from nbresume.run.inputs import Inputs
from nbresume.run.intents import Intents
from nbresume.run.journal import Journal
from nbresume.run.local_code import LocalCode
from nbresume.run.loops import Loops
from nbresume.run.ports import World
from nbresume.run.process import ProcessStates
from nbresume.run.publishing import Publisher
from nbresume.run.recovery import Recovery
from nbresume.run.restore import Restorer


class Parts(Struct, frozen=True):
    """The modules that the sequence joins."""

    live: Live
    snapshot: Snapshot
    restorer: Restorer
    process: ProcessStates
    inputs: Inputs
    branches: Branches
    intents: Intents
    effects: Effects
    loops: Loops
    commits: Commits
    drift: Drift
    evidence: Evidence
    files: Files
    file_watch: FileWatch
    code: LocalCode
    publisher: Publisher
    claims: Claims
    recovery: Recovery
    journal: Journal
    world: World
