"""A ledger service on 127.0.0.1: it books whatever it is asked for.

Its one rule: a line of the ledger is written before the answer goes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(frozen=True, slots=True)
class Booking:
    """One line of the ledger."""

    step: str
    amount: int
    """In cents."""
    key: str
    """The idempotency key that came with it; empty if none did."""


class Ledger:
    """What was asked of the service, oldest first."""

    def __init__(self, *, honors_keys: bool = False) -> None:
        self.lines: list[Booking] = []
        self.asked = 0
        """Requests, those that were answered by an earlier booking too."""
        self._honors_keys = honors_keys

    def book(self, asked: Booking) -> str:
        """Return a receipt; the same for the same key, where keys are honored."""
        self.asked += 1
        if self._honors_keys and asked.key:
            for number, line in enumerate(self.lines):
                if line.key == asked.key:
                    return f"R-{number + 1}"
        self.lines.append(asked)
        return f"R-{len(self.lines)}"

    def receipt_of(self, step: str) -> str:
        """Return the receipt of the first booking for a step; empty if none."""
        found = (n for n, line in enumerate(self.lines, 1) if line.step == step)
        number = next(found, 0)
        return f"R-{number}" if number else ""

    def counts(self, steps: tuple[str, ...]) -> list[int]:
        """Return how often each step was booked."""
        return [sum(line.step == step for line in self.lines) for step in steps]

    def money(self) -> int:
        """Return what was moved, in cents."""
        return sum(line.amount for line in self.lines)


class _Handler(BaseHTTPRequestHandler):
    ledger: Ledger

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(length))
        booking = Booking(asked["step"], int(asked["amount"]), asked.get("key", ""))
        self._answer({"receipt": self.ledger.book(booking)})

    def do_GET(self) -> None:
        lines = [vars_of(line) for line in self.ledger.lines]
        self._answer({"lines": lines})

    def _answer(self, told: dict[str, object]) -> None:
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def vars_of(line: Booking) -> dict[str, object]:
    """Return a line as JSON tells it."""
    return {"step": line.step, "amount": line.amount, "key": line.key}


@contextmanager
def serving(ledger: Ledger) -> Iterator[str]:
    """Serve a ledger; give the address, which ends with the block."""
    handler = type("Handler", (_Handler,), {"ledger": ledger})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
