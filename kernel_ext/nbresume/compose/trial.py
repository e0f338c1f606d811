"""Starts another process that loads names of a committed step, and hears what it says.

The rule: never waits for it. What it said before it ended counts; the first name that
it did not speak of is the one it ended at.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from msgspec import Struct

from nbresume.run.trials import Result, Trial

LIMIT_S: Final = 60.0
_CODE: Final = "from nbresume.compose.trial_child import answer; answer()"
"""Run with ``-c``, so that the child's ``__main__`` is as empty as a new kernel's."""


class TrialProcess(Struct, frozen=True):
    """Starts the other process for one run."""

    store: Path | str
    data: Path
    """The user's folder with the key."""
    run_id: str
    limit_s: float = LIMIT_S

    def __call__(self, step: str, names: Sequence[str]) -> Trial:
        """Start loading these names of a step's commit."""
        asked = {
            "store": str(self.store),
            "data": str(self.data),
            "run": self.run_id,
            "step": step,
            "names": list(names),
            "path": sys.path,
            "limit_s": self.limit_s,
        }
        # files and no pipes: whoever never waits cannot keep a pipe flowing
        said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by whoever hears it
        with tempfile.TemporaryFile("w+") as question:
            json.dump(asked, question)
            question.seek(0)
            process = subprocess.Popen(  # noqa: S603 - our own code, by this interpreter
                [sys.executable, "-c", _CODE],
                stdin=question,
                stdout=said,
                stderr=subprocess.DEVNULL,
                # an interrupt of the kernel is not one of the trial
                start_new_session=True,
            )
        return Trial(lambda: _poll(process, said, names), lambda: _stop(process, said))


def _poll(
    process: "subprocess.Popen[bytes]", said: TextIO, names: Sequence[str]
) -> list[Result] | None:
    if process.poll() is None:
        return None
    with said:
        said.seek(0)
        results = [Result(**json.loads(line)) for line in said]
    tried = {result.name for result in results}
    rest = [name for name in names if name not in tried]
    if rest:
        ended = f"the process that loaded it ended ({process.returncode})"
        results.append(Result(rest[0], error=ended))
    return results


def _stop(process: "subprocess.Popen[bytes]", said: TextIO) -> None:
    process.kill()
    process.wait()
    said.close()
