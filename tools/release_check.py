"""Build what a release is made of, and try it as it will be installed.

release_check.py FOLDER: the sdist, the wheel from it and from nothing else, what is in
them, their licences; then fresh environments of every supported Python on this
machine. Prints what was found; ends with 1 if something is not as it should be.
Nothing is uploaded.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from newest_python import SUPPORTED, candidates, works

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_FAILED: list[str] = []


def told(what: str, *, holds: bool = True, because: str = "") -> None:
    """Print one finding."""
    print(f"{'ok' if holds else 'NO'}  {what}{f': {because}' if because else ''}")
    if not holds:
        _FAILED.append(what)
    sys.stdout.flush()


def run(
    *words: object, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(  # noqa: S603 - tools of this project
        [str(word) for word in words],
        cwd=cwd,
        env=env or _outside(),
        capture_output=True,
        text=True,
        check=False,
    )


def _outside() -> dict[str, str]:
    """Return this environment without what would lead back to this project."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "JUPYTER_DATA_DIR", "SKIP_JUPYTER_BUILDER")
    return {name: text for name, text in os.environ.items() if name not in ours}


# -- what is built ------------------------------------------------------------------


def build(folder: Path) -> tuple[Path, Path]:
    """Return the sdist, and the wheel that was built from it alone."""
    done = run(
        sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", folder, "."
    )
    if done.returncode:
        sys.exit(f"the sdist was not built: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    [sdist] = folder.glob("*.tar.gz")
    told(f"sdist: {sdist.name}, {sdist.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as alone:
        with tarfile.open(sdist) as archive:
            # `extractall(filter=…)` is not in 3.11.0 to 3.11.3; the archive is ours
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(alone)  # noqa: S202
        [unpacked] = Path(alone).iterdir()
        # no node, no git: what the wheel is made of has to be in there
        env = {"PATH": os.defpath, "HOME": alone}
        words = ("build", "--wheel", "--no-isolation", "-o", folder, ".")
        done = run(sys.executable, "-m", *words, cwd=unpacked, env=env)
    if done.returncode:
        sys.exit(f"the sdist gave no wheel: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    [wheel] = folder.glob("*.whl")
    told(f"wheel, from the sdist and without node: {wheel.name}")
    return sdist, wheel


def same_as_from_the_tree(wheel: Path) -> None:
    """Compare the wheel with the one that this folder gives."""
    with tempfile.TemporaryDirectory() as other:
        words = ("build", "--wheel", "--no-isolation", "-o", other, ".")
        run(sys.executable, "-m", *words)
        [from_tree] = Path(other).glob("*.whl")
        differ = sorted(set(digests(wheel).items()) ^ set(digests(from_tree).items()))
    told(
        "it is the wheel of this folder, byte for byte",
        holds=not differ,
        because=", ".join(sorted({name for name, _ in differ})[:5]),
    )


def digests(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel with their check sums."""
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.CRC for one in archive.infolist()}


def described(sdist: Path, wheel: Path) -> None:
    """Look at names, versions and what an index would show."""
    version = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text(),
        re.MULTILINE,
    )
    number = version[1] if version else ""
    page = json.loads((ROOT / "extension" / "package.json").read_text())["version"]
    names = f"{sdist.name} {wheel.name}"
    told(f"version {number}, in one place", holds=names.count(f"-{number}") == 2)  # noqa: PLR2004
    told("the sidebar has the same", holds=page == number, because=page)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    told("the changelog knows it", holds=f"## {number}" in changelog)
    done = run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    seen = (done.stdout + done.stderr)[-300:].split()
    told("twine check", holds=not done.returncode, because=" ".join(seen))


def licensed(sdist: Path, wheel: Path) -> None:
    """Look for the licence, and for those of what is bundled."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    told("LICENSE in the sdist", holds="LICENSE" in names)
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [n for n in archive.namelist() if n.endswith("/METADATA")]
        text = archive.read(metadata).decode()
        kept = any(n.endswith("licenses/LICENSE") for n in archive.namelist())
        told(
            "LICENSE in the wheel",
            holds=kept and "License-File: LICENSE" in text,
            because=", ".join(re.findall(r"(?m)^License-Expression: (.+)$", text)),
        )
        bundled = [
            n for n in archive.namelist() if n.endswith("third-party-licenses.json")
        ]
        told("licences of what the sidebar bundles", holds=len(bundled) == 1)
        for one in json.loads(archive.read(bundled[0]))["packages"] if bundled else ():
            what = f"  {one['name']} {one['versionInfo']}: {one['licenseId']}"
            told(what, holds=bool(one["extractedText"] and one["licenseId"]))


# -- how it is installed ------------------------------------------------------------


def pythons() -> Iterator[tuple[str, str | None]]:
    """Yield each supported version, and where it is on this machine."""
    for _, minor in reversed(SUPPORTED):
        found = (p for p in candidates(minor) if works(p, minor))
        yield f"3.{minor}", next(found, None)


def tried(python: str, artifact: Path) -> None:
    """Install one file into a fresh environment, use it, and take it out again."""
    what = f"Python {python.rpartition('python')[2]}, {artifact.name}"
    with tempfile.TemporaryDirectory() as place:
        home, empty = Path(place, "env"), Path(place, "empty")
        empty.mkdir()
        run(python, "-m", "venv", home)
        ours = home / "bin" / "python"
        before = files(home)
        done = run(ours, "-m", "pip", "install", "--quiet", artifact, cwd=empty)
        seen = done.stderr[-300:] if done.returncode else ""
        told(f"{what}: installed", holds=not done.returncode, because=seen)
        if done.returncode:
            return
        checked = run(ours, "-m", "pip", "check", cwd=empty)
        told(
            f"{what}: pip check, {len(files(home) - before)} files",
            holds=not checked.returncode,
            because=checked.stdout.strip(),
        )
        # a user's own folders, and no path to this project
        env = {"PATH": f"{home / 'bin'}{os.pathsep}{os.defpath}", "HOME": place}
        smoke = run(ours, ROOT / "tools" / "smoke.py", cwd=empty, env=env)
        seen = (smoke.stdout + smoke.stderr[-500:]).strip()
        told(f"{what}: used", holds=not smoke.returncode, because=seen)
        run(ours, "-m", "pip", "uninstall", "--quiet", "--yes", "nbresume", cwd=empty)
        left = [name for name in files(home) if "nbresume" in name]
        told(f"{what}: uninstalled", holds=not left, because=", ".join(left[:5]))


def files(home: Path) -> set[str]:
    """Return the files below a folder, without those that Python caches."""
    return {
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def main() -> int:
    """Build, look, try."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        old.unlink()
    sdist, wheel = build(folder)
    same_as_from_the_tree(wheel)
    described(sdist, wheel)
    licensed(sdist, wheel)
    for version, python in pythons():
        if python is None:
            print(f"--  Python {version} is not on this machine: not tried")
            continue
        tried(python, wheel)
        tried(python, sdist)
    print(f"{len(_FAILED)} things are wrong" if _FAILED else "nothing is wrong")
    return 1 if _FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
