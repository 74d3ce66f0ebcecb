"""The names of the engines, apart from what makes sandboxes: a command that makes none pays for no engine."""

from __future__ import annotations

from typing import Final

ENGINES: Final = ("docker", "oci")
"""Every engine, best first. Each is the module of its name in this package, with a function ``engine()``."""

AUTO: Final = "auto"
"""The word for the first engine that will do."""


def engine_names() -> tuple[str, ...]:
    """The words that ``--engine`` takes."""
    return (AUTO, *ENGINES)
