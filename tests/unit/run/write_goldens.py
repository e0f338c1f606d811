"""Write the golden views and the schema anew; look at the difference before you commit.

Type ``PYTHONPATH=tests .venv/bin/python tests/unit/run/write_goldens.py``.
"""

import json
from pathlib import Path

import msgspec
from unit.run.views import GOLDEN, TOLD

from nbresume.run import view
from nbresume.run.view import RunView

FOLDER = Path(__file__).parents[2] / "data" / "runview"
TOLD_FOLDER = FOLDER.with_name("told")
SIZE = 100
"""What a golden view says for the size of any payload."""
SCHEMA = Path(view.__file__).with_name("runview.schema.json")


def as_text(value: object) -> str:
    """Return the JSON as it is kept: sorted, one space deep."""
    return json.dumps(value, sort_keys=True, indent=1) + "\n"


def golden(view: RunView) -> str:
    """Return a view as it is kept, without sizes (they vary) and release."""
    found = json.loads(view.to_json())
    found["version"] = "0.0.0"
    for holder, size in [
        (found["usage"], "bytes"),
        (found["metrics"], "checkpoint_bytes"),
        (found["metrics"], "written_bytes"),
        *((step, "payload_bytes") for step in found["steps"]),
    ]:
        holder[size] = min(holder[size], SIZE)
    return as_text(found)


def golden_told(told: msgspec.Struct) -> str:
    """Return what is told of one step, or of a plan, as it is kept."""
    found = json.loads(msgspec.json.encode(told))
    for output in found.get("outputs", []):
        output["size_bytes"] = min(output["size_bytes"], SIZE)
    return as_text(found)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    TOLD_FOLDER.mkdir(parents=True, exist_ok=True)
    SCHEMA.write_text(as_text(view.schema()))
    for name, make in GOLDEN.items():
        (FOLDER / f"{name}.json").write_text(golden(make()))
    for name, tell in TOLD.items():
        (TOLD_FOLDER / f"{name}.json").write_text(golden_told(tell()))
