"""Payload bytes → values. The only module that unpickles.

The rule: what is loaded here runs code, so the caller has checked the key of the
store and the digests of the bytes before. An error of a type's own loading code is
told as such; an error of nbresume passes through unchanged.
"""

import io
import pickle
import sys
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from nbresume.capture.atoms import MOVED
from nbresume.capture.pickling import MAIN, NAMESPACE
from nbresume.errors import CaptureError, NbresumeError

_ATOM_NAMES = frozenset({"complex", "Ellipsis", "NotImplemented"})


def rebuild(
    stream: bytes | bytearray | memoryview,
    buffers: Sequence[Any],
    *,
    resolve: Callable[[str], Any],
    namespace: MutableMapping[str, Any],
) -> Any:
    """Return the value that `pickling.dump` wrote.

    Arrays stand on `buffers` as they are given: writable ones make writable arrays. One
    that is read chunk by chunk is given to what the stream makes, as it is.
    `resolve` is asked for the object of every object id that the stream refers to.

    Raises
    ------
    CaptureError
        The loading code of a type failed.
    """
    loader = _Unpickler(stream, buffers, resolve, namespace)
    try:
        return loader.load()
    except NbresumeError:
        raise
    except (Exception, SystemExit) as error:
        # A value that ends the kernel when it is loaded fails alone, like any other;
        # only the user's own interrupt ends the loading.
        raise CaptureError(
            "a stored value cannot be rebuilt",
            because="the loading code of its type failed "
            f"({type(error).__name__}: {error})",
            remedy="Run the step that made it again: %steps rerun NAME.",
        ) from error


def rebuild_atoms(stream: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Return the names and values that `pickling.dump_atoms` wrote.

    Raises
    ------
    CaptureError
        The bytes are something else; nothing in them was run.
    """
    try:
        return dict(_AtomUnpickler(io.BytesIO(stream)).load())
    except Exception as error:
        raise CaptureError(
            "the small values of a step cannot be rebuilt",
            because=f"{type(error).__name__}: {error}",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        ) from error


class _Unpickler(pickle.Unpickler):
    def __init__(
        self,
        stream: bytes | bytearray | memoryview,
        buffers: Sequence[Any],
        resolve: Callable[[str], Any],
        namespace: MutableMapping[str, Any],
    ) -> None:
        super().__init__(io.BytesIO(stream), buffers=buffers)
        self._resolve = resolve
        self._namespace = namespace

    def persistent_load(self, pid: Any) -> Any:
        if pid == NAMESPACE:
            return self._namespace
        return sys.modules["__main__"] if pid == MAIN else self._resolve(pid)

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        # dill's word for the namespace
        if (module_name, global_name) == ("__builtin__", "__main__"):
            return self._namespace
        return super().find_class(MOVED.get(module_name, module_name), global_name)


class _AtomUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name == "builtins" and global_name in _ATOM_NAMES:
            return super().find_class(module_name, global_name)
        message = f"{module_name}.{global_name} is no small value"
        raise pickle.UnpicklingError(message)
