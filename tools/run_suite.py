"""Run pytest under each interpreter that exists, and say which ones ran.

run_suite.py PYTHON [PYTHON ...] -- PYTEST_ARGUMENT ...
"""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Return 1 if a suite failed."""
    split = sys.argv.index("--")
    pythons = [p for p in sys.argv[1:split] if Path(p).exists()]
    if not pythons:
        print("== no newer Python here, this part is not run", flush=True)
    results = []
    for python in pythons:
        version = _version(python)
        print(f"== the suite on Python {version}", flush=True)
        done = subprocess.run(  # noqa: S603 - an interpreter of this project
            [python, "-m", "pytest", *sys.argv[split + 1 :]], check=False
        )
        results.append((version, done.returncode))
    for version, code in results:
        word = "passed" if code == 0 else "FAILED"
        print(f"== Python {version}: {word}", flush=True)
    return 1 if any(code for _, code in results) else 0


def _version(python: str) -> str:
    code = "import platform; print(platform.python_version())"
    done = subprocess.run(  # noqa: S603 - an interpreter of this project
        [python, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
