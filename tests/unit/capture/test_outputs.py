"""What a cell showed, as a front end would show it."""

import pytest

from nbresume.capture.outputs import (
    append_stream,
    apply_message,
    decode,
    encode,
    fold_carriage_returns,
)
from nbresume.errors import Damaged
from nbresume.model.displays import Display, Stream


def _text(value):
    return {"data": {"text/plain": value}, "metadata": {}}


def test_pieces_of_one_stream_are_joined():
    """Three writes are one text; another stream begins a new one."""
    outputs = []
    for name, piece in [("stdout", "a"), ("stdout", "b"), ("stderr", "c")]:
        append_stream(outputs, name, piece)

    assert outputs == [Stream("stdout", "ab"), Stream("stderr", "c")]


def test_an_empty_write_shows_nothing():
    """print(end='') leaves no output behind."""
    outputs = []
    append_stream(outputs, "stdout", "")

    assert outputs == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("10%\r100%\n", "100%\n"),
        ("longer\rab\n", "abnger\n"),
        ("windows\r\nline", "windows\nline"),
        ("done\r", "done"),
        ("\rstart", "start"),
        ("a\rb\nc\rd", "b\nd"),
        ("", ""),
    ],
)
def test_carriage_returns_write_over_their_line(written, shown):
    """A progress bar is shown as its last state."""
    assert fold_carriage_returns(written) == shown
    assert fold_carriage_returns(shown) == shown


def test_messages_become_outputs():
    """Streams, displays and the result of the cell are kept in their order."""
    outputs = []
    apply_message(outputs, "stream", {"name": "stdout", "text": "hi"})
    apply_message(outputs, "display_data", _text("d"))
    apply_message(outputs, "execute_result", {**_text("r"), "execution_count": 3})
    apply_message(outputs, "status", {"execution_state": "idle"})

    assert outputs == [
        Stream("stdout", "hi"),
        Display({"text/plain": "d"}),
        Display({"text/plain": "r"}, result=True),
    ]


def test_an_update_replaces_by_display_id():
    """Every display with the id changes, others stay."""
    outputs = []
    for name in ("x", "y", "x"):
        content = {**_text("old"), "transient": {"display_id": name}}
        apply_message(outputs, "display_data", content)
    update = {**_text("new"), "transient": {"display_id": "x"}}
    apply_message(outputs, "update_display_data", update)

    assert [shown.data["text/plain"] for shown in outputs] == ["new", "old", "new"]


def test_an_update_without_id_changes_nothing():
    """Displays without an id are not each other's updates."""
    outputs = []
    apply_message(outputs, "display_data", _text("old"))
    apply_message(outputs, "update_display_data", _text("new"))

    assert outputs == [Display({"text/plain": "old"})]


def test_an_updated_result_stays_the_result():
    """Out[n] is still Out[n] after its display was updated."""
    outputs = []
    named = {"transient": {"display_id": "x"}}
    apply_message(outputs, "execute_result", {**_text("old"), **named})
    apply_message(outputs, "update_display_data", {**_text("new"), **named})

    assert outputs[0].result
    assert outputs[0].data == {"text/plain": "new"}


def test_clear_output_empties_now():
    """Without wait the outputs are gone at once."""
    outputs = [Stream("stdout", "old")]
    apply_message(outputs, "clear_output", {"wait": False})

    assert outputs == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [("stream", {"name": "stdout", "text": "new"}), ("display_data", _text("new"))],
)
def test_clear_output_with_wait_empties_at_the_next_output(kind, content):
    """With wait the outputs stay until something replaces them."""
    outputs = [Stream("stdout", "old")]
    apply_message(outputs, "clear_output", {"wait": True})
    apply_message(outputs, "clear_output", {"wait": True})

    assert decode(encode(outputs)) == [Stream("stdout", "old")]

    apply_message(outputs, kind, content)

    assert len(outputs) == 1
    assert "old" not in str(outputs)


def test_encode_and_decode_are_inverse():
    """What was shown is read back as it was."""
    outputs = [
        Stream("stderr", "é\ud7ff\n"),
        Display({"image/png": "aGk=", "application/json": {"b": [1], "a": None}}),
        Display({}, {"x": 1}, display_id="d", result=True),
    ]

    assert decode(encode(outputs)) == outputs


def test_equal_outputs_have_equal_bytes():
    """The order in which a library fills a bundle says nothing."""
    one = [Display({"a": "1", "b": "2"})]
    two = [Display({"b": "2", "a": "1"})]

    assert encode(one) == encode(two)


@pytest.mark.parametrize("data", [b"", b"[", b'[{"type":"what"}]', b"\xff"])
def test_damaged_bytes_are_told(data):
    """Half a list of outputs is no list of outputs."""
    with pytest.raises(Damaged):
        decode(data)
