"""Everything that nbresume refuses or reports, as one tree.

The rule: an error says what was refused, because of what, and what to type next.
The tree is grouped by what the caller can do about it::

    NbresumeError
    ├─ RefusedError          nothing ran and nothing was written: decide, then try again
    │  ├─ UsageError           the header, an option or a command is wrong
    │  ├─ BadName              a step name that cannot be used
    │  ├─ DuplicateName        two cells carry the same step name
    │  ├─ AmbiguousStep        in doubt: it may or may not have happened outside
    │  ├─ LockedStep           a committed step with effects would have to run again
    │  ├─ OutOfPosition        an input cannot be brought to where the step stands
    │  ├─ TakenRun             another kernel holds the run
    │  ├─ NotTrusted           the store was written under another key
    │  ├─ EffectRefused        an effect cannot be called here, or so
    │  ├─ EffectNotKept        an effect is done, and its result could not be kept
    │  ├─ LoopRefused          a resumable loop cannot be kept, or not be gone on with
    │  ├─ NotKeptRefusal       (also a NotKeptError) a step needs such a value
    │  └─ NotCommitted         there is nothing committed where something was asked for
    ├─ ConflictError         the revision is not the current one: load and decide anew
    ├─ SchemaError           a kind or schema version that this release cannot read
    ├─ CaptureError          a value could not be captured; the step is RAN
    ├─ NotKeptError          (also a NameError) a value that its step could not keep
    └─ StoreError            the store itself
       ├─ KeyTaken             a create-only key exists already
       ├─ KeyMissing           a key that should be there is not
       ├─ Damaged              bytes are not what their digest says
       ├─ Unavailable          the device or service failed
       ├─ SealedError          values are encrypted, and their key is not here
       └─ Unfit                this folder cannot keep the promises

    FencedError (BaseException): another kernel took the run over. Final; a user's
    ``except Exception`` must not swallow it.

``ErrorKind`` codes are append-only: scripts may rely on them.
"""

from enum import StrEnum
from typing import ClassVar

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_USAGE = 3


class ErrorKind(StrEnum):
    """Codes of errors, for programs. Never renamed, never reused."""

    REFUSED = "refused"
    USAGE = "usage"
    BAD_NAME = "bad-name"
    DUPLICATE_NAME = "duplicate-name"
    AMBIGUOUS = "ambiguous"
    LOCKED = "locked"
    OUT_OF_POSITION = "out-of-position"
    TAKEN_RUN = "taken-run"
    NOT_TRUSTED = "not-trusted"
    NOT_COMMITTED = "not-committed"
    CONFLICT = "conflict"
    FENCED = "fenced"
    UNKNOWN_SCHEMA = "unknown-schema"
    CAPTURE = "capture"
    NOT_KEPT = "not-kept"
    STORE = "store"
    KEY_TAKEN = "key-taken"
    KEY_MISSING = "key-missing"
    DAMAGED = "damaged"
    UNAVAILABLE = "unavailable"
    UNFIT = "unfit"
    EFFECT = "effect"
    EFFECT_NOT_KEPT = "effect-not-kept"
    LOOP = "loop"
    SEALED = "sealed"


class _Told(BaseException):
    """What every error carries: the sentence, the reason, the remedy, the ids."""

    kind: ClassVar[ErrorKind]
    exit_code: ClassVar[int] = EXIT_REFUSED

    def __init__(
        self, refused: str, *, because: str = "", remedy: str = "", **ids: object
    ) -> None:
        self.refused = refused
        """What was refused or what failed."""
        self.because = because
        """Why."""
        self.remedy = remedy
        """What to do or to type next: one sentence."""
        self.ids = ids
        """The step, run, revision, key … concerned."""
        text = f"{refused}: {because}" if because else refused
        super().__init__(f"{text.rstrip('.')}. {remedy}" if remedy else text)

    def _render_traceback_(self) -> list[str]:
        # IPython asks an exception for its own rendering: the frames of nbresume
        # tell a notebook's author nothing, the sentence does.
        return [f"{type(self).__name__}: {self}"]


class NbresumeError(_Told, Exception):
    """The root of the tree (see the module's docstring)."""

    kind = ErrorKind.REFUSED


class RefusedError(NbresumeError):
    """Nothing ran and nothing was written; the message says how to go on."""

    kind = ErrorKind.REFUSED


class UsageError(RefusedError):
    """A header, an option or a command that cannot be understood."""

    kind = ErrorKind.USAGE
    exit_code = EXIT_USAGE


class BadName(RefusedError):
    """A step name that is missing or illegal."""

    kind = ErrorKind.BAD_NAME


class DuplicateName(RefusedError):
    """Another cell of the notebook carries this step name."""

    kind = ErrorKind.DUPLICATE_NAME


class AmbiguousStep(RefusedError):
    """The step is ambiguous (in doubt); a person or a policy has to decide."""

    kind = ErrorKind.AMBIGUOUS


class LockedStep(RefusedError):
    """A committed step with effects never runs again unasked."""

    kind = ErrorKind.LOCKED


class OutOfPosition(RefusedError):
    """An input of the step cannot be brought to the step's position unasked."""

    kind = ErrorKind.OUT_OF_POSITION


class TakenRun(RefusedError):
    """Another kernel is, or may be, the writer of this run."""

    kind = ErrorKind.TAKEN_RUN


class NotTrusted(RefusedError):
    """The store was not written under this user's key and is not pinned."""

    kind = ErrorKind.NOT_TRUSTED


class NotCommitted(RefusedError):
    """Something committed was asked for, and there is nothing."""

    kind = ErrorKind.NOT_COMMITTED


class EffectRefused(RefusedError):
    """An effect that was not called: not here, not now, or not with these values."""

    kind = ErrorKind.EFFECT


class EffectNotKept(RefusedError):
    """An effect is done and is not repeated, but its result could not be kept."""

    kind = ErrorKind.EFFECT_NOT_KEPT


class LoopRefused(RefusedError):
    """A loop whose progress cannot be saved here, or not be gone on with."""

    kind = ErrorKind.LOOP


class ConflictError(NbresumeError):
    """The expected revision is not the current one."""

    kind = ErrorKind.CONFLICT


class SchemaError(NbresumeError):
    """A format that this release cannot read; nothing is written."""

    kind = ErrorKind.UNKNOWN_SCHEMA


class CaptureError(NbresumeError):
    """A value, or the step's result as a whole, could not be captured."""

    kind = ErrorKind.CAPTURE


class NotKeptError(NbresumeError, NameError):
    """A value that its step could not keep. Also a NameError: ``hasattr`` works."""

    kind = ErrorKind.NOT_KEPT


class NotKeptRefusal(RefusedError, NotKeptError):
    """A step would read a value that an earlier step could not keep."""

    kind = ErrorKind.NOT_KEPT


class StoreError(NbresumeError):
    """The store cannot do what it was asked to."""

    kind = ErrorKind.STORE


class KeyTaken(StoreError):
    """A create-only key exists already; its content is somebody's and stays."""

    kind = ErrorKind.KEY_TAKEN


class KeyMissing(StoreError):
    """A key that should exist does not."""

    kind = ErrorKind.KEY_MISSING


class Damaged(StoreError):
    """Stored bytes are missing, truncated or not what their digest says."""

    kind = ErrorKind.DAMAGED


class Unavailable(StoreError):
    """The device or service failed (full disk, input/output error, no rights)."""

    kind = ErrorKind.UNAVAILABLE


class SealedError(StoreError):
    """Values are encrypted under a key that is not here, or should be and are not."""

    kind = ErrorKind.SEALED


class Unfit(StoreError):
    """A folder or service that cannot keep the promises, so it is not used."""

    kind = ErrorKind.UNFIT


class FencedError(_Told):
    """Another kernel took the run over; this one writes nothing any more."""

    kind = ErrorKind.FENCED
