"""The key of a step at its position: what its commits say, and what stands today.

The rule: what is known only after the body (process state it used, files it read) is
part of a commit's key, so each commit is compared with what *it* used.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from nbresume.model.folded import RunState
from nbresume.model.records import Committed
from nbresume.model.values import FileState
from nbresume.plan.key import Cues, key_of
from nbresume.run.file_states import Files, Where, version_of
from nbresume.run.standing import Standing


def committed_cues(record: Committed) -> Cues:
    """Return the cues that a commit was made with."""
    return Cues(
        code_version=record.code_version,
        inputs=record.inputs,
        aliases={name: tuple(names) for name, names in record.aliases.items()},
        after=record.after,
        process=record.process_in,
        files=_versions(record.files),
    )


def key_after(
    cues: Cues, *, process: Mapping[str, str], files: Mapping[str, FileState]
) -> str:
    """Return the key of a commit, with what its body turned out to use."""
    return key_of(replace(cues, process=process, files=_versions(files)))


def files_today(
    files: Files, standing: Standing, state: RunState, record: Committed | None = None
) -> dict[str, str]:
    """Return the versions now of the files that a commit used, by default its own."""
    if record is None and standing.commit is not None:
        record = standing.commit.record
    if record is None:
        return {}
    where = Where(state, standing.order, standing.n)
    return files.today(record, where, standing.header.reads)


def newest_commit_with(key: str, standing: Standing) -> int | None:
    """Return the revision of an older commit that has exactly this key."""
    history = standing.history
    if history is None:
        return None
    revision = history.keys.get(key)
    return None if revision in (None, history.current) else revision


def _versions(files: Mapping[str, FileState]) -> dict[str, str]:
    return {name: version_of(state) for name, state in files.items()}
