"""What a cell showed, kept as a list of streams and MIME bundles.

The rule: pure functions on the list; who listens to the kernel's messages and who
shows the list again stands elsewhere. A ``clear_output(wait=True)`` that still waits
for the next output is a marker at the end of the list; `encode` leaves it out.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from nbresume.errors import Damaged
from nbresume.model.displays import Display, Shown, Stream

_CLEAR = Stream(name="", text="")


def append_stream(outputs: list[Shown], name: str, text: str) -> None:
    """Add text to the end of the list, joined to the last piece of the same stream."""
    _settle(outputs)
    last = outputs[-1] if outputs else None
    if isinstance(last, Stream) and last.name == name:
        outputs[-1] = Stream(name=name, text=last.text + text)
    elif text:
        outputs.append(Stream(name=name, text=text))


def fold_carriage_returns(text: str) -> str:
    """Return the text as a front end shows it: a return writes over its line."""
    return "\n".join(
        _fold_line(line) if "\r" in line else line for line in _lines(text)
    )


def apply_message(
    outputs: list[Shown], msg_type: str, content: Mapping[str, Any]
) -> None:
    """Change the list as a front end changes what it shows; other types do nothing."""
    if msg_type == "stream":
        append_stream(outputs, content["name"], content["text"])
    elif msg_type in ("display_data", "execute_result"):
        _settle(outputs)
        outputs.append(_display(content, result=msg_type == "execute_result"))
    elif msg_type == "update_display_data":
        _update(outputs, content)
    elif msg_type == "clear_output":
        if not content.get("wait", False):
            outputs.clear()
        elif not _waits(outputs):
            outputs.append(_CLEAR)


def encode(outputs: list[Shown]) -> bytes:
    """Return the list as JSON with sorted keys: equal lists have equal bytes."""
    return msgspec.json.encode(
        [shown for shown in outputs if shown is not _CLEAR], order="sorted"
    )


def decode(data: bytes) -> list[Shown]:
    """Return the list that `encode` wrote.

    Raises
    ------
    Damaged
        The bytes are not such a list.
    """
    try:
        return msgspec.json.decode(data, type=list[Shown])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Damaged(
            "the outputs of a cell cannot be read",
            because=f"their bytes are damaged or incomplete ({error})",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        ) from error


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _fold_line(line: str) -> str:
    shown = ""
    for piece in line.split("\r"):
        shown = piece + shown[len(piece) :]
    return shown


def _waits(outputs: list[Shown]) -> bool:
    return bool(outputs) and outputs[-1] is _CLEAR


def _settle(outputs: list[Shown]) -> None:
    if _waits(outputs):
        outputs.clear()


def _display(content: Mapping[str, Any], *, result: bool) -> Display:
    transient = content.get("transient") or {}
    return Display(
        data=dict(content["data"]),
        metadata=dict(content.get("metadata") or {}),
        display_id=transient.get("display_id") or "",
        result=result,
    )


def _update(outputs: list[Shown], content: Mapping[str, Any]) -> None:
    new = _display(content, result=False)
    for at, shown in enumerate(outputs):
        if isinstance(shown, Display) and new.display_id == shown.display_id != "":
            outputs[at] = msgspec.structs.replace(
                shown, data=new.data, metadata=new.metadata
            )
