"""The way to the module that starts real kernels, and to the script of the stores."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "kernel" / "durability"))
sys.path.insert(0, str(TESTS / "golden"))
