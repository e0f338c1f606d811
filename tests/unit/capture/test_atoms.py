"""Small values, and what an import finds again."""

import json
import math
import sys

import numpy as np
import pytest

from nbresume.capture.atoms import importable, is_atom, resolve_import, type_name
from nbresume.errors import CaptureError


@pytest.mark.parametrize(
    "value", [1, 1.5, 1j, True, None, "x" * 4096, b"x", ..., NotImplemented]
)
def test_small_immutable_values_are_atoms(value):
    """Numbers, short texts and singletons are kept beside each other."""
    assert is_atom(value)


@pytest.mark.parametrize("value", ["x" * 4097, b"x" * 4097, (), [], object()])
def test_containers_and_long_texts_are_no_atoms(value):
    """Whatever may be shared or large is an object of its own."""
    assert not is_atom(value)


def test_subclasses_of_atoms_are_no_atoms():
    """A subclass has a class that must come back too."""
    assert not is_atom(type("I", (int,), {})(3))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (json.dumps, "json:dumps"),
        (json.JSONDecoder, "json.decoder:JSONDecoder"),
        (json.JSONDecoder.decode, "json.decoder:JSONDecoder.decode"),
        (math.sin, "math:sin"),
        (len, "builtins:len"),
        (lambda: 0, None),
        (3, None),
    ],
)
def test_importable_names_what_an_import_finds(value, expected):
    """Functions and classes of modules are named, all others are not."""
    assert expected == importable(value)


def test_what_stands_in_main_is_never_importable(monkeypatch):
    """The notebook's own functions live in __main__ and change with its cells."""
    main = sys.modules["__main__"]

    def function():
        pass

    function.__module__, function.__qualname__ = "__main__", "function"
    monkeypatch.setattr(main, "function", function, raising=False)

    assert importable(function) is None


def test_a_replaced_function_is_not_importable(monkeypatch):
    """The name now leads to something else."""
    original = json.dumps
    monkeypatch.setattr(json, "dumps", lambda: 0)

    assert importable(original) is None


def test_a_class_in_a_module_that_nobody_imported_is_found():
    """The class numpy.recarray says it lives in numpy.rec, which nothing imports."""
    assert importable(np.recarray) == "numpy.rec:recarray"


def test_attributes_that_raise_are_survived():
    """A value may answer any question with an error."""

    class Rude:
        def __call__(self):
            pass

        def __getattribute__(self, name):
            raise RuntimeError(name)

    assert importable(Rude()) is None


def test_resolve_import_finds_what_importable_named():
    """The two functions are each other's inverse."""
    assert resolve_import("json.decoder:JSONDecoder.decode") is json.JSONDecoder.decode


@pytest.mark.parametrize("target", ["no_such_module:x", "json:no_such_name"])
def test_resolve_import_refuses_what_is_missing(target):
    """A library that is not installed here is named, with what to install."""
    with pytest.raises(CaptureError, match="cannot be imported"):
        resolve_import(target)


def test_type_name_is_for_people():
    """Built-in types stand without their module."""
    assert type_name([]) == "list"
    assert type_name(json.JSONDecoder()) == "json.decoder.JSONDecoder"
