"""What the steps of the order workflow call: a service on this computer.

The service writes everything that it is asked for into its ledger, and does it again
if it is asked again, as most services do.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

import power

ADDRESS = "LEDGER_SERVICE"


def call(step: str, amount: int = 0, *, alone: bool = False) -> str:
    """Ask the service for one thing; return its receipt.

    Parameters
    ----------
    step
        What it is asked for.
    amount
        Money, in cents.
    alone
        Nothing announces the moments of the step but this call.
    """
    if alone:
        power.at(step, 0)
    receipt = _post({"step": step, "amount": amount, "pid": os.getpid()})
    power.at(step, 1)
    if alone:
        power.at(step, 2)
        power.at(step, 3)
    return receipt


def _post(asked: dict[str, Any]) -> str:
    request = urllib.request.Request(
        os.environ[ADDRESS], json.dumps(asked).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.loads(answer.read())["receipt"])
