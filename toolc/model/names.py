"""The names of providers and engines, the rules for names in specs, and suggestions for misspelled names.

A command can offer them as choices without importing the packages ``providers`` and ``sandbox``.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from toolc.model.diagnostics import spend
from toolc.model.text import lazy_re

PROVIDER_NAMES: Final = (
    "openai_chat", "openai_responses", "anthropic", "gemini", "mcp", "bedrock", "mistral", "cohere", "ollama",
)  # fmt: skip
"""All providers, in the order of the documentation.

Append new providers at the end, because the position is the number of the provider's review rule (``PRV01`` for the
first).
"""

ENGINES: Final = ("docker", "oci")
"""All engines, the best first. Each is a module of this name with a function ``engine()``."""

AUTO: Final = "auto"
"""Selects the first engine that can run the call."""

LOCK_NAME: Final = "toolc.lock"
"""The name of the lock file, which has the digests of the reviewed tools."""

IMAGE_NAME: Final = lazy_re(r"[a-z0-9][A-Za-z0-9._:/@-]*")
"""Matches the name of an image, with an optional tag or digest."""

TOOL_NAME: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Matches the name of a tool that every provider accepts."""

IDENTIFIER: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Matches the name of a parameter, a variable or a step, which is an identifier in templates and in Python."""


SIMILAR_NAMES: Final = "the search for similar names"
"""The name of the work of ``close_match``, for the finding that no steps are left."""

MAX_COMPARED: Final = 200
"""The maximum length of a name that is compared with others. Comparing takes the product of both lengths."""


def engine_names() -> tuple[str, ...]:
    """Return the values that ``--engine`` accepts."""
    return (AUTO, *ENGINES)


def names_similar_to(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names whose first word is ``name``, such as ``openai``, or else the most similar one."""
    names = [*known]
    starting = tuple(each for each in names if each.startswith(f"{name}_"))
    close = close_match(name, names)
    return starting or ((close,) if close else ())


def close_match(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """Return the known name most similar to ``name``, or an empty string if none reaches the ``cutoff`` (0 to 1).

    The default of ``cutoff`` is the same as in difflib. Very long names are not compared. Each comparison is a step of
    the file's budget (``diagnostics.spend``). If no steps are left, the result is empty.
    """
    import difflib  # lazy: +1 ms; only misspelled names need it

    if len(name) > MAX_COMPARED or not spend(len(known), SIMILAR_NAMES):
        return ""
    names = [each for each in known if len(each) <= MAX_COMPARED]
    if not spend(sum(len(each) // 40 for each in names), SIMILAR_NAMES):  # a step compares about 40 characters
        return ""
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), "")


def valid_name(name: str, rule: re.Pattern[str]) -> str:
    """Return ``name`` with ``_`` for characters that ``rule`` forbids, or an empty string if it is still not valid."""
    changed = re.sub(r"[^A-Za-z0-9_]+", "_", name[:100]).strip("_")
    return changed if rule.fullmatch(changed) else ""
