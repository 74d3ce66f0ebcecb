"""Find the files and packages that code imports."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from toolc.compiler.decode.python_imports import imports
from toolc.data.python_modules import STANDARD_LIBRARY, package_name
from toolc.dataclass import dataclass
from toolc.importers.python.modules import LeftOutError, Module, Modules, framework_of

Versions = Callable[[str], str | None]
"""Returns the version of a package to install, or None if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeNeeds:
    """The imports of code: the modules by path, and the version of each package."""

    files: Mapping[str, Module]
    packages: Mapping[str, str]

    @property
    def pinned(self) -> list[str]:
        """The packages in the form of ``requirements`` in a spec."""
        return [f"{package}=={version}" for package, version in sorted(self.packages.items())]


def code_needs(modules: Modules, file: str, text: str, versions: Versions, node: ast.AST) -> CodeNeeds:
    """Return the needs of a code file and of the files that it imports. Raises ``LeftOutError`` at ``node``."""
    files: dict[str, Module] = {}
    packages: dict[str, str] = {}
    queue = [(file, text)]
    for path, code in queue:
        for name in _imported_names(path, code):
            if name.partition(".")[0] in STANDARD_LIBRARY:  # it precedes the files of a tool
                continue
            found = _local_files(modules, name)
            new = [each for each in found if each not in files]
            files |= {each: modules.module(each) for each in new}
            queue += [(each, files[each].text) for each in new]
            if found:
                continue
            if framework := framework_of(name):
                raise LeftOutError(f"{path} imports {framework}", node)
            package = package_name(name)
            packages[package] = packages.get(package) or versions(package) or ""
    if unknown := " ".join(f"--requirement {name}==VERSION" for name, version in packages.items() if not version):
        raise LeftOutError(f"it imports packages whose versions are not known; pass {unknown}", node)
    return CodeNeeds(files=files, packages=packages)


def _imported_names(path: str, text: str) -> Iterator[str]:
    for each in imports(text, path):
        folder = each.folder.replace("/", ".") if each.folder else ""
        yield f"{folder}.{each.name}" if folder else each.name


def _local_files(modules: Modules, name: str) -> list[str]:
    """Return the files that importing a dotted name loads, including the files of its packages."""
    parts = name.split(".")
    starts = (".".join(parts[: count + 1]) for count in range(len(parts)))
    return [path for each in starts if (path := modules.path_of(each))]
