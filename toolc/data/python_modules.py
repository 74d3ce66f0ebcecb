"""The modules of the standard library, and packages that provide modules under a different name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

STANDARD_LIBRARY: Final = frozenset[str](_DATA["standard_library"])
"""The union of ``sys.stdlib_module_names`` of Python 3.9 to 3.14.

The names come from the package ``stdlibs`` 2026.9.3, which has a list for each version, because Python 3.9 lacks
``sys.stdlib_module_names``. Modules for CPython's own tests are left out. The list for 3.11 was compared with that of
CPython.
"""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(each) for name, each in _DATA["packages"].items()}
"""The packages that provide each module whose package has a different normalized name (PyPI, November 2026).

If a package with the name of the module also provides it, that package is last. For example, none is named ``yaml``.
"""

_SEVERAL: Final = frozenset({"azure", "google", "jaraco", "zope"})
"""Namespaces that many packages share. Each package is named after its module in the namespace."""


def package_name(module: str) -> str:
    """Return the normalized name of the package that most likely provides the module with this dotted name."""
    top = module.partition(".")[0]
    if top in _SEVERAL and top != module:
        return _normalized(".".join(module.split(".")[:3]))
    return PACKAGES[top][0] if top in PACKAGES else _normalized(top)


def provides(packages: Collection[str], module: str) -> bool:
    """Return whether one of ``packages``, which are normalized names, is known or likely to provide a module.

    ``module`` is a dotted name. For example, the package ``google-cloud-storage`` provides ``google.cloud.storage``.
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
