"""The second stage of the start: makes the bundle's modules importable and hands over to the supervisor.

Runs as plain source before any module of ``toolc.guest`` exists, and so imports nothing of it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType


class BundleLoader(SourceFileLoader):
    """Loads one module from source that arrived over the wire; there is no file."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name, "<%s>" % name)
        self._source = source

    def get_data(self, path: str) -> bytes:  # one module, whatever the path
        """The module's source, for tracebacks."""
        return self._source.encode()

    def get_code(self, fullname: str) -> CodeType:  # one module, whatever its name
        """The module compiled; nothing is cached, the root may be read-only."""
        code: CodeType = compile(self._source, self.path, "exec", dont_inherit=True)
        return code


class BundleFinder:
    """Finds modules in a mapping of names to sources; each is compiled only when it is imported."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of a module of the bundle, None for any other."""
        if name not in self._sources:
            return None
        package = any(other.startswith(name + ".") for other in self._sources)
        return ModuleSpec(name, BundleLoader(name, self._sources[name]), is_package=package)


def run(sources: dict[str, str]) -> None:
    """Make ``sources`` importable and become the supervisor; never returns."""
    sys.meta_path.insert(0, BundleFinder(sources))
    from toolc.guest.supervisor import main  # importable only from here on

    main()
