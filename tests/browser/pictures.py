"""What people see of the extension, the files that draw it, and its pictures.

The rule: a picture is as old as the files that draw its view. Beside the pictures
stands the digest of those files when they were taken: content, no times of files.
"""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
TAKEN = IMAGES / "taken.json"
THEMES = ("light", "dark")

_ALL = ("src/icons.ts", "src/words.ts", "style/base.css")
_ROWS = ("src/step.tsx", "src/steps.tsx", "src/list.tsx", "src/rows.ts")
VIEWS = {
    "sidebar": (
        *("src/sidebar.tsx", "src/notices.tsx", "src/sentences.ts", "src/trail.tsx"),
        *("src/focus.tsx", "src/menu.ts", "src/can.ts", *_ROWS, *_ALL),
    ),
    "details": (
        *("src/details.tsx", "src/inspected.tsx", "src/preview.tsx", "src/stored.ts"),
        *_ALL,
    ),
    "dialog": ("src/doubt.tsx", "src/evidence.tsx", "src/decision.ts", *_ALL),
    "cells": (
        *("src/decorate.ts", "src/locks.ts", "src/marker.ts", "src/marks.ts"),
        *("src/strip.ts", "style/cells.css", *_ALL),
    ),
}


def drawing() -> list[str]:
    """Return every file that certainly draws something."""
    folder = ROOT / "extension"
    found = [*folder.glob("src/*.tsx"), *folder.glob("style/*.css")]
    # it joins the others, and draws nothing
    return sorted(
        path.relative_to(folder).as_posix()
        for path in found
        if path.name != "index.css"
    )


def digest_of(view: str, folder: Path = ROOT / "extension") -> str:
    """Return the digest of the files that draw a view."""
    found = hashlib.sha256()
    for name in sorted(VIEWS[view]):
        found.update(name.encode() + b"\0" + (folder / name).read_bytes() + b"\0")
    return found.hexdigest()


def read_taken() -> dict[str, dict]:
    """Return the digest and the pictures of each view, as they were taken."""
    return json.loads(TAKEN.read_text(encoding="utf-8"))


def write_taken(pictures: dict[str, list[str]]) -> None:
    """Say of which files these pictures are."""
    taken = {
        view: {"digest": digest_of(view), "pictures": sorted(names)}
        for view, names in sorted(pictures.items())
    }
    TAKEN.write_text(json.dumps(taken, indent=2) + "\n", encoding="utf-8")
