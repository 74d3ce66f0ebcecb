"""What ``toolc test --json`` wrote, to show next to the tools that it tested."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool

MAX_BYTES: Final = 64 * 2**20
"""The maximum size of a file of results, in bytes."""

_OUTCOMES: Final = ("passed", "failed", "error")


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The result of one test of a tool. ``surface`` and ``effect`` are the digests of the tool that was tested."""

    tool: str
    number: int
    outcome: str
    duration_ms: float
    problems: tuple[str, ...]
    surface: str
    effect: str

    def is_outdated(self, tool: RegisteredTool) -> bool:
        """Return whether the result is about another version of this tool."""
        return (self.surface, self.effect) != (tool.surface_digest, tool.effect_digest)


@dataclass(frozen=True, slots=True)
class RecordedResults:
    """The results of a run, by tool and number."""

    by_test: Mapping[tuple[str, int], RecordedResult]

    @classmethod
    def read(cls, path: Path) -> RecordedResults:
        """Read a file that ``toolc test --json`` wrote. Raises ``UsageError``."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise UsageError(f"{path} is larger than {MAX_BYTES} bytes")
            results = [*map(_result, json.loads(data)["tests"])]
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UsageError(
                f"{path} has no results of tests; write it with: toolc test TARGETS --json > {path.name}"
            ) from None
        return cls({(each.tool, each.number): each for each in results})


def _result(entry: JsonObject) -> RecordedResult:
    """Return the result in an entry. Raises ``ValueError``, ``KeyError`` and ``TypeError``."""
    number, duration, digests, problems = (entry[key] for key in ("number", "duration_ms", "digests", "problems"))
    if not (isinstance(number, int) and isinstance(duration, int | float) and entry["outcome"] in _OUTCOMES):
        raise ValueError
    if not (isinstance(digests, dict) and isinstance(problems, list)):
        raise TypeError
    tool, outcome, surface, effect = map(str, (entry["tool"], entry["outcome"], digests["surface"], digests["effect"]))
    return RecordedResult(tool, number, outcome, duration, tuple(map(str, problems)), surface, effect)
