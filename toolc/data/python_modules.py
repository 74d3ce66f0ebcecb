"""The modules of the standard library, and packages that provide modules with another name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

STANDARD_LIBRARY: Final = frozenset[str](_DATA["standard_library"])
"""The union of ``sys.stdlib_module_names`` of Python 3.9 to 3.14.

The names are those of the package ``stdlibs`` 2026.9.3, which has a list of each version (3.9 does not have
``sys.stdlib_module_names``), without modules for CPython's own tests. The list of 3.11 was compared with CPython's.
"""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(each) for name, each in _DATA["packages"].items()}
"""The packages that provide a module, where their normalized names differ from its name (PyPI, November 2026).

A package with the name of the module is listed last if it provides the module as well: there is no ``yaml``.
"""

_SEVERAL: Final = frozenset({"azure", "google", "jaraco", "zope"})
"""Namespaces that are shared by many packages, which are named like the modules in them."""


def package_name(module: str) -> str:
    """Return the normalized name of the package that most likely provides the module with this dotted name."""
    top = module.partition(".")[0]
    if top in _SEVERAL and top != module:
        return _normalized(".".join(module.split(".")[:3]))
    return PACKAGES[top][0] if top in PACKAGES else _normalized(top)


def provides(packages: Collection[str], module: str) -> bool:
    """Return whether one of ``packages``, which are normalized names, is known or likely to provide a module.

    ``module`` is a dotted name: ``google.cloud.storage`` is in the package ``google-cloud-storage``.
    """
    top = module.partition(".")[0]
    name = _normalized(top)
    likely = {name} if top not in PACKAGES else set[str]()
    likely |= {f"python-{name}", f"{name}-python", f"py{name}", f"py-{name}", *PACKAGES.get(top, ())}
    if not likely.isdisjoint(packages):
        return True
    start = f"{name}-"
    return any(package.startswith(start) for package in packages) and (top in _SEVERAL or top not in PACKAGES)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
