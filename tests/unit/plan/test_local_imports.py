"""Which modules a text imports."""

import pytest

from nbresume.plan.local_imports import imported_by, with_parents

TEXTS = {
    "import a, b.c as d": {"a", "b.c"},
    "from a import b": {"a", "a.b"},
    "def f():\n    import late": {"late"},
    "from . import part": {"pkg.sub", "pkg.sub.part"},
    "from .part import x": {"pkg.sub.part", "pkg.sub.part.x"},
    "from ..other import *": {"pkg.other"},
    "this is no Python": set(),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items())
def test_imports_are_found(text, expected):
    """Also inside functions, and relative ones."""
    assert imported_by(text, module="pkg.sub.mod") == expected


def test_a_package_is_its_own_parent():
    """Its relative imports begin one level lower."""
    found = imported_by("from .part import x", module="pkg", is_package=True)

    assert found == {"pkg.part", "pkg.part.x"}
    assert with_parents("a.b.c") == ["a", "a.b", "a.b.c"]
