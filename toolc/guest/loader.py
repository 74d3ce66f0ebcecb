"""The second stage of the start: makes the bundled modules importable, and starts the supervisor or the fork server.

This source runs before any module of ``toolc.guest`` is available, so it cannot import from it.
"""

from __future__ import annotations

import marshal
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


class BundleLoader(SourceLoader):
    """Loads one module that the host has sent, as source or compiled code. There is no file."""

    def __init__(self, name: str, content: str | bytes) -> None:
        self._path = "<%s>" % name
        self._content = content

    def get_filename(self, fullname: str) -> str:  # holds a single module; the name is not needed
        """Return the name of the module for tracebacks."""
        return self._path

    def get_data(self, path: str) -> bytes:  # holds a single module; the path is not needed
        """Return the module's source for tracebacks, or ``b""`` if only its code was kept."""
        return self._content.encode() if isinstance(self._content, str) else b""

    def get_code(self, fullname: str) -> CodeType:  # holds a single module; the name is not needed
        """Return the compiled module. Nothing is cached, because the root file system may be read-only."""
        if isinstance(self._content, str):
            return compile(self._content, self._path, "exec", dont_inherit=True)
        code: CodeType = marshal.loads(self._content)  # noqa: S302  the host has sent it
        return code


class BundleFinder:
    """Finds modules in a mapping of names to source or compiled code. A module is loaded when it is imported."""

    def __init__(self, modules: dict[str, str | bytes]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a bundled module, or None for any other module."""
        if name not in self._modules:
            return None
        package = any(other.startswith(name + ".") for other in self._modules)
        loader = BundleLoader(name, self._modules[name])
        return ModuleSpec(name, loader, is_package=package)  # type: ignore[arg-type]  # as in importlib


def run(bundle: bytes, end: int) -> None:
    """Make the modules in ``bundle`` (see ``toolc.guest.bundle``) importable and run the first of them.

    They begin at ``end``. Does not return.
    """
    magic, found = marshal.loads(memoryview(bundle)[end:])  # noqa: S302  the host has sent it
    # Waiting sandboxes keep only what they need in memory.
    is_compiled = magic == MAGIC_NUMBER
    sys.meta_path.insert(
        0, BundleFinder({name: code if is_compiled and code else text for name, (text, code) in found.items()})
    )
    del found, bundle, sys.modules["__main__"].bundle
    # The argument is defined in ``toolc.guest.launch_args``, which was not importable until here.
    first = "toolc.guest.forks.fork_supervisor" if "fork" in sys.argv[1:] else "toolc.guest.supervisor"
    __import__(first)
    sys.modules[first].main()
