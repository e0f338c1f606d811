"""A store in which every kind of file stands, made by a real kernel."""

import json
from pathlib import Path

from real_kernel import Kernel, save

NOTE = (
    "import numpy as np\ndef note(name):\n    with open('ledger.txt', 'a') as file:\n"
    "        file.write(name + '\\n')\nplain = [7, 8]"
)
CELLS = [
    "%load_ext nbresume",
    NOTE,
    "%%step first\nnote('first')\na = [1, 2]",
    "%%step array\nnote('array')\nbig = np.arange(200_000.0)",
    "%%step mixed\nnote('mixed')\nb = plain + a\ntop = float(big.sum())\nprint(top)",
    *(f"%%step s{n}\nnote('s{n}')\nv{n} = {n} + len(a)" for n in range(9)),
    "%%step last\nnote('last')\nend = (b, v8, top)",
]
VALUES = {
    "a": "[1, 2]",
    "b": "[7, 8, 1, 2]",
    "v3": "5",
    "top": "19999900000.0",
    "end": "([7, 8, 1, 2], 10, 19999900000.0)",
}


def make(folder: Path) -> Path:
    """Run all cells in a kernel; return the folder."""
    save(folder / "main.ipynb", *CELLS)
    with Kernel(folder) as kernel:
        for number, code in enumerate(CELLS):
            kernel.ok(code, f"c{number}")
    return folder


def files(store: Path) -> dict[str, Path]:
    """Return one file of each kind."""
    records = sorted(store.glob("journal/*/*.rec"))
    read = [json.loads(path.read_bytes()) for path in records]
    commits = [r for r in read if r["kind"] == "nbresume.committed"]
    by_step = {r["payload"]["step"]: r for r in commits}
    run = next(path for path in (store / "data.zarr").iterdir() if path.is_dir())
    mixed, array = (
        run / by_step[step]["payload"]["manifest"]["group"]
        for step in ("mixed", "array")
    )
    folds = [r["payload"]["fold"] for r in commits if r["payload"].get("fold")]
    assert folds, "no fold was written"
    chunk = next(p for p in array.rglob("c*") if p.is_file() and "pack" not in p.parts)
    return {
        "first-record": records[0],
        "intent": records[by_step["mixed"]["revision"] - 1],
        "commit": records[by_step["mixed"]["revision"]],
        "last-record": records[-1],
        "pack": mixed / "pack" / "c.0",
        "pack-metadata": mixed / "pack" / "zarr.json",
        "group": mixed / "zarr.json",
        "run-group": run / "zarr.json",
        "root-group": store / "data.zarr" / "zarr.json",
        "array": chunk,
        "array-metadata": array / "o1" / "zarr.json"
        if (array / "o1" / "zarr.json").exists()
        else next(p for p in array.glob("o*/zarr.json")),
        "fold-pack": run / folds[-1]["group"] / "pack" / "c.0",
        "claim-copy": next(store.glob("runs/*/*")),
        "store.json": store / "store.json",
        "gitignore": store / ".gitignore",
    }
