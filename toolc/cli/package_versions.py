"""Determine the versions of the packages that imported code needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

_PACKAGE: Final = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[^]]*\])?\s*==\s*([\w.!+-]+)")

requirement_option: Final = click.option(
    "--requirement", "given", multiple=True, metavar="PACKAGE==VERSION", help="The version of a package. Repeatable."
)


class PackageVersions:
    """The versions of packages, from the command line, the last import, the source, or this environment."""

    def __init__(self, file: Path, given: tuple[str, ...], recorded: Mapping[str, object]) -> None:
        self._known = dict(_near(file))
        last = recorded.get("requirements")
        for each in (*(last if isinstance(last, list) else ()), *given):
            match = _PACKAGE.fullmatch(str(each))
            if match is None:
                raise UsageError(f"--requirement {each!r} is not PACKAGE==VERSION")
            self._known[_normalized(match[1])] = match[2]

    def of(self, package: str) -> str | None:
        """Return the version of a package, by its normalized name."""
        try:
            return self._known.get(package) or version(package)
        except PackageNotFoundError:
            return None


def pinned(versions: Mapping[str, str]) -> JsonObject:
    """Return the versions of packages in the form of options for the next import."""
    return {"requirements": [f"{package}=={each}" for package, each in sorted(versions.items())]}


def _near(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the packages that a file's own block (PEP 723) or ``requirements.txt`` next to it pins."""
    listed, own = (
        each.read_text(encoding="utf-8", errors="replace") if each.is_file() else ""
        for each in (file.parent / "requirements.txt", file)
    )
    block = re.search(r"(?ms)^# /// script$.*?^# ///$", own)
    for text in (re.sub(r"(?m)#.*", "", listed), block[0] if block else ""):
        yield from ((_normalized(name), pinned) for name, pinned in _PACKAGE.findall(text))


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
