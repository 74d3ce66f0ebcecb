"""What ``toolc test --json`` wrote, to show next to the tools that it tested."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

_OUTCOMES: Final = ("passed", "failed", "error")


def read_results(path: Path) -> Mapping[str, Sequence[JsonObject]]:
    """Return the results in a file that ``toolc test --json`` wrote, by the name of the tool. Raises ``UsageError``."""
    found: dict[str, list[JsonObject]] = {}
    try:
        for each in json.loads(path.read_bytes())["tests"]:
            found.setdefault(each["tool"], []).append(_checked(each))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); name a file of toolc test --json") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f"{path} has no results of tests; write it with: toolc test TARGETS --json > {path.name}"
        ) from None
    return found


def _checked(entry: JsonObject) -> JsonObject:
    """Return the parts of a result that are shown. Raises ``ValueError``, ``KeyError`` and ``TypeError``."""
    shown = {key: entry[key] for key in ("number", "outcome", "duration_ms", "problems", "digests")}
    if shown["outcome"] not in _OUTCOMES or not isinstance(shown["problems"], list):
        raise ValueError
    return shown
