"""The cells that every tool runs.

The rule: a workload is plain cells, equal for all; what each one reads and writes is
said beside it, for tools that keep functions. Random data is seeded, so that the
digests of all tools can be compared.
"""

from dataclasses import dataclass, field, replace

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the notebook."""

    name: str
    code: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    group: str = ""
    """Cells of one group do the same work: their median is one number."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Cells, and what must be equal after them and after a restore."""

    name: str
    title: str
    preamble: str
    cells: tuple[Cell, ...]
    values: tuple[str, ...]
    """Names or expressions whose digest is compared."""
    after: str
    """The first cell that was never run before the kernel was killed."""
    sizes: dict[str, int] = field(default_factory=dict)
    """What the limits of the machine are measured at (`limits.py`)."""
    probes: dict[str, str] = field(default_factory=dict)
    """Expressions that are true after a restore that kept the meaning."""
    only: tuple[str, ...] = ()
    """The adapters that it is for; nothing stands for all."""


def _count(full: int, scale: float, least: int) -> int:
    return max(least, int(full * scale))


def tiny(scale: float, *, name: str = "tiny", full: int = 200) -> Workload:
    """Many cells that cost nothing: what is left is the price of keeping them."""
    count = _count(full, scale, 30)
    cells = [
        Cell(f"t{i}", f"v{i} = {i} * 3", (), (f"v{i}",), "step")
        if i % 2 == 0
        else Cell(
            f"t{i}",
            f"v{i} = {{'i': {i}, 'prev': v{i - 1}}}",
            (f"v{i - 1}",),
            (f"v{i}",),
            "step",
        )
        for i in range(count)
    ]
    values = ("v0", f"v{count // 2}", f"v{count - 1}")
    return Workload(
        name, f"{count} tiny steps", "pass", tuple(cells), values, "after = v1"
    )


def many(scale: float) -> Workload:
    """Up to 10,000 tiny cells; beside the plain kernel only."""
    work = tiny(scale, name="many", full=10_000)
    return replace(work, only=("plain", "nbresume"))


def big(scale: float) -> Workload:
    """One large array: made, read five times, one percent of its rows changed."""
    count = _count(125_000_000, scale, 100_000)
    part = count // 100
    cells = (
        Cell(
            "load",
            f"big = np.random.default_rng(1).random({count})",
            (),
            ("big",),
            "load",
        ),
        *(
            Cell(
                f"read{i}",
                f"m{i} = float(big[{i}::101].mean())",
                ("big",),
                (f"m{i}",),
                "read",
            )
            for i in range(5)
        ),
        Cell(
            "change",
            f"big[{count // 2}:{count // 2 + part}] *= 2.0",
            ("big",),
            ("big",),
            "change",
        ),
    )
    return Workload(
        "big",
        f"array of {count * 8 / MB:,.0f} MB: 5 reads, 1 % changed",
        "import numpy as np",
        cells,
        ("big", "m0", "m4"),
        "after = m0 + 1",
        {"array": count, "part": part},
    )


def wide(scale: float) -> Workload:
    """Ten columns of a frame, and ten more, one a step."""
    rows = _count(2_500_000, scale, 20_000)
    load = (
        "made = np.random.default_rng(7)\n"
        f"df = pd.DataFrame({{f'c{{i}}': made.standard_normal({rows}) "
        "for i in range(10)})"
    )
    added = [
        Cell(
            f"add{i}",
            f"df['d{i}'] = df['c{i}'] * 2.0 + {i}",
            ("df",),
            ("df",),
            "column",
        )
        for i in range(10)
    ]
    return Workload(
        "wide",
        f"frame of {rows * 80 / MB:,.0f} MB: 10 added columns",
        "import numpy as np, pandas as pd",
        (Cell("load", load, (), ("df",), "load"), *added),
        ("df",),
        "after = float(df['d9'].iloc[0])",
        {"rows": rows, "columns": 15},
    )


def soup(scale: float) -> Workload:
    """Many small objects, of which one percent is touched in each step."""
    count = _count(100_000, scale, 2_000)
    preamble = (
        "from dataclasses import dataclass, field\n"
        "@dataclass\nclass Rec:\n    k: int\n"
        "    tags: list = field(default_factory=list)"
    )
    load = (
        "soup = [Rec(i, [i]) if i % 3 == 0 else {'k': i, 's': str(i)} if i % 3 == 1 "
        f"else [i, i + 1] for i in range({count})]"
    )
    touch = (
        "for one in soup[{j}::100]:\n"
        "    if isinstance(one, Rec):\n        one.tags.append({j})\n"
        "    elif isinstance(one, dict):\n        one['t'] = {j}\n"
        "    else:\n        one.append({j})\n"
    )
    touched = [
        Cell(f"touch{j}", touch.format(j=j) + "del one", ("soup",), ("soup",), "touch")
        for j in range(10)
    ]
    return Workload(
        "soup",
        f"{count:,} small objects, 10 x 1 % touched",
        preamble,
        (Cell("load", load, (), ("soup",), "load"), *touched),
        ("[vars(one) if isinstance(one, Rec) else one for one in soup]",),
        "after = soup[5]",
        {"objects": count},
        {"class": "type(soup[0]) is Rec"},
    )


def packed(scale: float) -> Workload:
    """One array that compresses well: the codec is the tool's own choice."""
    count = _count(25_000_000, scale, 100_000)
    code = (
        "smooth = np.cumsum("
        f"np.random.default_rng(3).integers(0, 8, {count}, dtype='int64'))"
    )
    return Workload(
        "packed",
        f"compressible array of {count * 8 / MB:,.0f} MB",
        "import numpy as np",
        (Cell("load", code, (), ("smooth",), "load"),),
        ("smooth",),
        "after = int(smooth[0])",
        {"smooth": count},
    )


def mixed(scale: float) -> Workload:
    """Twelve small cells over an array, a frame and a list that are not small."""
    count = _count(12_500_000, scale, 100_000)
    rows = _count(1_000_000, scale, 10_000)
    dicts = _count(200_000, scale, 2_000)
    frame = (
        "made = np.random.default_rng(2)\n"
        f"df = pd.DataFrame({{f'c{{i}}': made.random({rows}) for i in range(12)}})"
    )
    items = f"lst = [{{'i': i, 's': str(i)}} for i in range({dicts})]"
    cells = (
        Cell("x", f"x = np.random.default_rng(1).random({count})", (), ("x",)),
        Cell("df", frame, (), ("df",)),
        Cell("lst", items, (), ("lst",)),
        Cell("s", "s = float(x[:10].sum())", ("x",), ("s",), "array-read"),
        Cell("x0", "x[0] = 1.0", ("x",), ("x",)),
        Cell("y", "y = x[:1000] * 2", ("x",), ("y",)),
        Cell("m", "m = float(df['c0'].mean())", ("df",), ("m",), "frame-read"),
        Cell("c0", "df['c0'] += 1.0", ("df",), ("df",)),
        Cell("n", "n = len(lst)", ("lst",), ("n",), "list-read"),
        Cell("more", "lst.append({'i': -1})", ("lst",), ("lst",)),
        Cell("y1", "y = y + 1", ("y",), ("y",)),
        Cell("z", "z = float(x.mean() + df['c0'].mean())", ("x", "df"), ("z",)),
    )
    return Workload(
        "mixed",
        "12 cells over an array, a frame and a list of dicts",
        "import numpy as np, pandas as pd",
        cells,
        ("x", "df", "lst", "s", "y", "m", "n", "z"),
        "after = n + 1",
        {"array": count, "rows": rows, "columns": 12, "dicts": dicts},
    )
