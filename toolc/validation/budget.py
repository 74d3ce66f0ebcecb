"""How much one validation may do: so many steps for any value, and more for a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonValue

FOR_ANY: Final = 50_000
FOR_EACH_CHARACTER: Final = 10
AT_MOST: Final = 1_000_000
"""A step is a keyword of a schema that is looked at, about 10 microseconds."""


class SpentError(Exception):
    """A budget has been spent."""


@dataclass(slots=True)
class Budget:
    """The steps that are left to validate one value, whose parts have known sizes."""

    left: int
    _sizes: dict[int, int]

    @classmethod
    def of(cls, value: JsonValue) -> Budget:
        """The budget for ``value``, which must live as long as it."""
        sizes: dict[int, int] = {}
        total = _measure(value, sizes)
        return cls(min(FOR_ANY + FOR_EACH_CHARACTER * total, AT_MOST), sizes)

    def pay(self, steps: int) -> None:
        """Take ``steps`` from what is left. Raises ``SpentError``."""
        self.left -= steps
        if self.left < 0:
            raise SpentError

    def size(self, part: object) -> int:
        """About how many characters a part of the value has as JSON."""
        if isinstance(part, list | dict):
            return self._sizes.get(id(part), 1)
        return len(part) if isinstance(part, str) else 1


def _measure(value: JsonValue, sizes: dict[int, int]) -> int:
    if isinstance(value, dict):
        size = 2 + sum(len(key) + 4 + _measure(each, sizes) for key, each in value.items())
    elif isinstance(value, list):
        size = 2 + sum(1 + _measure(each, sizes) for each in value)
    else:
        return len(value) + 2 if isinstance(value, str) else 4
    sizes[id(value)] = size
    return size
