"""One virtual environment for each peer: their pins conflict.

The rule: an environment that cannot be made is a fact to report, never a reason to
leave a peer out. What went wrong is kept beside the environment and comes back as
`Environment.failed`; the next run tries again.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from peers.adapters import Adapter

COMMON = ("ipykernel>=7,<8", "numpy>=2.4,<2.5", "pandas>=3,<4", "xxhash>=3.5")
"""What the cells use: in every environment, of the same releases if a peer lets it."""
PROJECT = Path(__file__).resolve().parents[2]
INSTALL_S = 900
READY = "bench-ready.json"
_VERSIONS = """
import importlib.metadata as found, json, platform, sys
names = {name: found.version(name) for name in sys.argv[1:]}
print(json.dumps({"python": platform.python_version(), **names}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where an adapter's kernels come from, or why there are none."""

    python: Path
    versions: dict[str, str]
    failed: str = ""

    def told(self) -> str:
        """Return its versions, or why it could not be made."""
        if self.failed:
            return f"not installed: {self.failed}"
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())


def wanted(adapter: type[Adapter]) -> list[str]:
    """Return what pip is asked for: the peer, and what the cells use."""
    # editable: what is measured is the code as it stands
    own = ["--editable", str(PROJECT)] if adapter.name == "nbresume" else []
    foreign = [name for name in adapter.packages if name != "nbresume"]
    return [*own, *foreign, *(adapter.common or COMMON)]


def prepare(adapter: type[Adapter], root: Path) -> Environment:
    """Return the environment of an adapter; it is made if it is not there."""
    folder = root / adapter.name
    python = folder / "bin" / "python"
    ready = folder / READY
    asked = wanted(adapter)
    if adapter.name == "nbresume":
        # pip compiles what it installs, but nothing that is editable
        _call([sys.executable, "-m", "compileall", "-q", str(PROJECT / "kernel_ext")])
    if ready.exists() and json.loads(ready.read_text())["asked"] == asked:
        return Environment(python, json.loads(ready.read_text())["versions"])
    print(f"making the environment of {adapter.name} …", flush=True)
    try:
        _call([sys.executable, "-m", "venv", "--clear", str(folder)])
        _call([str(python), "-m", "pip", "install", "--quiet", *asked])
        shown = [*map(_distribution, adapter.packages), "ipykernel", "numpy", "pandas"]
        versions = json.loads(_call([str(python), "-c", _VERSIONS, *shown]))
    except (OSError, subprocess.SubprocessError) as error:
        return Environment(python, {}, failed=_reason(error))
    ready.write_text(json.dumps({"asked": asked, "versions": versions}))
    return Environment(python, versions)


def _distribution(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ]", requirement)[0]


def _call(command: list[str]) -> str:
    return subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
    ).stdout


def _reason(error: Exception) -> str:
    """Return the last line that says something, of pip or of the system."""
    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    told = [line for line in lines if line.lower().startswith("error")] or lines
    return told[-1][:200]
