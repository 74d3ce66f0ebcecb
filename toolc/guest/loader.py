"""The second stage of the start: makes the bundled modules importable and starts the supervisor.

This source runs before any module of ``toolc.guest`` is available, so it cannot import from it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType


class BundleLoader(SourceFileLoader):
    """Loads one module from source received from the host; there is no file."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name, "<%s>" % name)
        self._source = source

    def get_data(self, path: str) -> bytes:  # holds a single module; the path is not needed
        """Return the module's source, for tracebacks."""
        return self._source.encode()

    def get_code(self, fullname: str) -> CodeType:  # holds a single module; the name is not needed
        """Return the compiled module. Nothing is cached, because the root file system may be read-only."""
        code: CodeType = compile(self._source, self.path, "exec", dont_inherit=True)
        return code


class BundleFinder:
    """Finds modules in a mapping of names to sources. A module is compiled when it is imported."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a bundled module; None for any other module."""
        if name not in self._sources:
            return None
        package = any(other.startswith(name + ".") for other in self._sources)
        return ModuleSpec(name, BundleLoader(name, self._sources[name]), is_package=package)


def run(sources: dict[str, str]) -> None:
    """Make ``sources`` importable and run the supervisor. Does not return."""
    sys.meta_path.insert(0, BundleFinder(sources))
    from toolc.guest.supervisor import main  # lazy: importable only after the line above

    main()
