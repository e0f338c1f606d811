"""What the commands of `%steps` work on: the session of one kernel."""

from nbresume.compose.graph import Session
from nbresume.run.ports import hurried
from nbresume.run.resume import Resumed, resume
from nbresume.run.view import RunView
from nbresume.run.viewing import view_run
from nbresume.ui.ipython.pages import Pages


class Face:
    """What the commands work on: the session of this kernel, and who looks at it."""

    def __init__(self, session: Session, pages: Pages) -> None:
        self.session = session
        self.pages = pages

    def view(self, *, quick: bool = False) -> RunView:
        """Return the run as it stands now; quick: reads no long file for it."""
        session, world = self.session, self.session.world
        session.journal.refresh()
        return view_run(
            session.journal.state,
            session.order(),
            session.parts.recovery,
            hurried(world) if quick else world,
            run_id=session.journal.run_id,
            alive=session.parts.claims.is_alive(),
            counts=session.journal.counts,
        )

    def glance(self) -> RunView:
        """Return the run for those who only look."""
        return self.view(quick=True)

    def resume(self) -> Resumed:
        """Bind the state after the last committed step."""
        session, order = self.session, self.session.order()
        resumed = resume(session.parts, order)
        session.stepper.stand_at(resumed.steps)
        self.pages.resumed(resumed.steps)
        return resumed

    def say(self, line: str) -> None:
        """Tell the person one line."""
        self.session.world.screen.say(line)
