"""What the commit of a step stored, for people: names, sizes, previews, displays.

The rule: it reads bytes and unpickles none of them. Shown is what was text, or an
image, when the step was committed.
"""

import msgspec

from nbresume.capture.outputs import decode as decode_outputs
from nbresume.capture.outputs import fold_carriage_returns
from nbresume.errors import NotCommitted, NotTrusted, StoreError
from nbresume.model.codec import decode
from nbresume.model.displays import Shown, Stream
from nbresume.model.histories import Commit
from nbresume.model.manifest import Binding, Manifest
from nbresume.model.previews import Preview, bundle_of
from nbresume.model.records import Committed
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest

TEXT_LIMIT = 20_000
"""Characters of one text that are shown."""
BUNDLE_LIMIT = 300_000
"""Characters of one rich display; larger ones are left out."""
SHOWN_LIMIT = 1_000_000
HEAD_CHARS = 60
"""Of a value that is told in a row."""
_RICH = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/markdown")
_FIGURE = "matplotlib.figure.Figure"


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """One name that a commit holds, or could not keep."""

    name: str
    kind: str
    """Class of the value; empty if it was not kept."""
    dtype: str = ""
    shape: list[int] | None = None
    size_bytes: int = 0
    """Of its own payloads; 0 if it shares one with other small values."""
    not_kept: str = ""
    """Why it was not kept; empty if it was."""
    preview: dict[str, str] = {}
    """MIME type → what to show; empty if none was made."""


class StoredStep(msgspec.Struct, frozen=True, kw_only=True):
    """What the commit of a step stored."""

    step: str
    commit_number: int
    committed_at: str
    code: str
    """The text of the cell, as it ran."""
    outputs: list[Output]
    shown: list[dict[str, str]]
    """What the cell showed, in order, as MIME bundles."""
    shown_left_out: int
    """So many displays are too large to be shown here."""


def stored(journal: Journal, step: str, *, trusted: bool) -> StoredStep:
    """Return what the commit of a step stored.

    Parameters
    ----------
    trusted
        Whether the records were vouched for.

    Raises
    ------
    NotCommitted
        The step has no commit.
    NotTrusted
        The run was written under another key: what it shows may be anything.
    Damaged
        A payload is missing or not what its digest says.
    """
    commit = journal.state.commit(step)
    if commit is None:
        raise NotCommitted(
            f"nothing of step {step} is shown",
            because="it has no commit in this run",
            remedy="Run its cell.",
            step=step,
        )
    if not trusted:
        raise NotTrusted(
            f"nothing of step {step} is shown",
            because="the run was written under another key",
            remedy="If you know where it comes from, type nbresume trust FOLDER.",
            step=step,
        )
    return stored_by(journal, commit)


def stored_by(journal: Journal, commit: Commit) -> StoredStep:
    """Return what a commit stored; its records were vouched for.

    Raises
    ------
    Damaged
        A payload is missing or not what its digest says.
    """
    if not commit.record.manifest.group:
        return _told(commit, Manifest(names={}, units={}, payloads={}), [], {}, "")
    manifest = read_manifest(journal.objects, commit.record.manifest)

    def payload(digest: str) -> bytes:
        place = manifest.payloads[digest]
        return bytes(journal.objects.read(place, digest))

    shown = decode_outputs(payload(manifest.displays)) if manifest.displays else []
    previews: dict[str, Preview] = {}
    if manifest.previews:
        previews = decode(
            payload(manifest.previews), dict[str, Preview], name="previews"
        )
    code = payload(manifest.code).decode() if manifest.code else ""
    return _told(commit, manifest, shown, previews, code)


class StoredSources:
    """Previews and texts of cells, from the payloads of commits that are trusted."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: dict[int, StoredStep | None] = {}

    def preview(self, commit: Commit, name: str) -> str:
        """Return the head of what a commit's value looks like; "" if it is not told."""
        found = self._of(commit)
        outputs = found.outputs if found is not None else []
        texts = [o.preview.get("text/plain", "") for o in outputs if o.name == name]
        return _head(texts[0]) if texts else ""

    def code(self, commit: Commit) -> str:
        """Return the text of the cell that a commit was made of; "" if it is lost."""
        found = self._of(commit)
        return found.code if found is not None else ""

    def _of(self, commit: Commit) -> StoredStep | None:
        if commit.revision not in self._read:
            self._read[commit.revision] = self._try(commit)
        return self._read[commit.revision]

    def _try(self, commit: Commit) -> StoredStep | None:
        if not commit.record.manifest.group:
            return None
        try:
            return stored_by(self._journal, commit)
        except StoreError:
            return None  # the digests are told all the same; `verify` tells the damage


def _head(text: str) -> str:
    """Return the first line of a preview, cut."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= HEAD_CHARS else f"{line[:HEAD_CHARS]}…"


def _told(
    commit: Commit,
    manifest: Manifest,
    shown: list[Shown],
    previews: dict[str, Preview],
    code: str,
) -> StoredStep:
    record = commit.record
    bundles, left_out = _bundles(shown)
    bundles_of = {name: bundle_of(preview) for name, preview in previews.items()}
    outputs = [
        _output(name, manifest.names[name], manifest, bundles_of.get(name, {}))
        for name in sorted(record.outputs)
        if name in manifest.names
    ]
    return StoredStep(
        step=record.step,
        commit_number=record.commit_number,
        committed_at=commit.at.isoformat(),
        code=code,
        outputs=[*_with_figures(outputs, bundles), *_lost(record, manifest)],
        shown=bundles,
        shown_left_out=left_out,
    )


def _output(
    name: str, binding: Binding, manifest: Manifest, preview: dict[str, str]
) -> Output:
    unit = manifest.units.get(binding.target)
    digests = [unit.stream, *unit.buffers] if unit else []
    return Output(
        name=name,
        kind=binding.type,
        dtype=binding.dtype,
        shape=binding.shape,
        size_bytes=sum(manifest.payloads[digest].length for digest in digests),
        preview=preview,
    )


def _lost(record: Committed, manifest: Manifest) -> list[Output]:
    gone = record.outputs.keys() - manifest.names
    unknown = dict.fromkeys(gone, "its value is not here")
    return [
        Output(name=name, kind="", not_kept=reason)
        for name, reason in sorted((unknown | record.not_kept).items())
    ]


def _with_figures(outputs: list[Output], bundles: list[dict[str, str]]) -> list[Output]:
    """Let the only figure of a step be previewed by the only image that it showed."""
    images = [bundle for bundle in bundles if "image/png" in bundle]
    figures = [output for output in outputs if output.kind == _FIGURE]
    if len(images) != 1 or len(figures) != 1:
        return outputs
    image = {"image/png": images[0]["image/png"]}
    return [
        msgspec.structs.replace(output, preview=image)
        if output is figures[0]
        else output
        for output in outputs
    ]


def _bundles(shown: list[Shown]) -> tuple[list[dict[str, str]], int]:
    """Return what can be shown, and how many displays are left out."""
    bundles: list[dict[str, str]] = []
    left_out = total = 0
    for item in shown:
        bundle = _bundle(item)
        size = sum(map(len, bundle.values()))
        if not bundle or total + size > SHOWN_LIMIT:
            left_out += 1
            continue
        total += size
        bundles.append(bundle)
    return bundles, left_out


def _bundle(item: Shown) -> dict[str, str]:
    if isinstance(item, Stream):
        return {"text/plain": _cut(fold_carriage_returns(item.text))}
    rich = {
        mime: value
        for mime in _RICH
        if isinstance(value := item.data.get(mime), str) and len(value) <= BUNDLE_LIMIT
    }
    plain = item.data.get("text/plain")
    return rich | ({"text/plain": _cut(plain)} if isinstance(plain, str) else {})


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"
