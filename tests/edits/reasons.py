"""Why a body ran that did not have to: one row for each kind, told with the rate.

A row is tried against what the kernel said when it ran that step again. What no row
explains fails the test.
"""

import re

ROWS = (
    (
        r"no longer share an object \(or now do\)",
        "the key holds which names share data: one changes with the other",
    ),
    (
        r"\S+ is there again",
        "a file that the step had taken away was made anew, though with equal content",
    ),
)
"""(What the kernel says, why)."""
CASES = {
    ("b_parse", "renamed name in entries"): (
        "a class that stands under another name is another class: pickles name it"
    ),
    ("r_mixed", "deleted line in restored"): (
        "which generators count in a key is known from the newest commit alone"
    ),
}
"""(Notebook, edit): why."""


def reason(book: str, edit: str, said: str) -> str | None:
    """Return why a step ran again; None if no row says it."""
    if (book, edit) in CASES:
        return CASES[book, edit]
    return next((why for pattern, why in ROWS if re.search(pattern, said)), None)
