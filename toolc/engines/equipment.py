"""What a sandbox gets beside its image: a Python for the guest where it has none, and a tool's packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolc.engines import guest_python
from toolc.engines.guest_python import BROUGHT, OWN, RUNTIME, Start, facts, runtime
from toolc.engines.requirements import SITE, packages_in, site
from toolc.model.errors import InfrastructureError

PLACES = (RUNTIME, SITE)
"""Where folders of the host's are bound, read-only."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """How the guest's Python is started, and which host folders stand where: (source, target)."""

    command: tuple[str, ...] = OWN
    binds: tuple[tuple[str, str], ...] = ()


def packages_of(binds: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The packages among host folders that are bound."""
    return next((packages_in(Path(source)) for source, target in binds if target == SITE), ())


@dataclass(frozen=True, slots=True)
class Root:
    """A root that sandboxes can be made of: what tells it from others, and how one is started."""

    key: str
    start: Start


def equip(root: Root, base: Callable[[], Root], requirements: Sequence[str]) -> Equipment:
    """What a sandbox of ``root`` needs; ``base`` is the root whose Python is brought along if need be.

    Made once and then found. Raises ``InfrastructureError``.
    """
    command: tuple[str, ...] = OWN
    binds: list[tuple[str, str]] = []
    python = facts(root.key, root.start)
    if python is None:
        origin = base()
        python = facts(origin.key, origin.start)
        if python is None:
            oldest = ".".join(map(str, guest_python.OLDEST))
            raise InfrastructureError(f"neither the image nor toolc's own has Python {oldest} or newer")
        command = BROUGHT
        binds.append((str(runtime(origin.key, origin.start)), RUNTIME))
    if requirements:
        binds.append((str(site(requirements, python)), SITE))
    return Equipment(command, tuple(binds))
