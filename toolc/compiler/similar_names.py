"""TC203's milder side: two tools whose names differ in a separator, one letter more or two letters swapped.

Linear in the number of names: each is filed under itself without its separators and under each of its
one-letter-shorter forms, and only names under one key are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

_SHORTEST: Final = 8
"""Names shorter than this differ by a letter on purpose (``cp`` and ``scp``)."""


def similar_names(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each tool whose name is nearly that of an earlier one."""
    first: dict[str, LocatedTool] = {}
    readable = [tool for tool in tools if "name" not in tool.damaged]
    for tool in sorted(readable, key=lambda tool: tool.path):
        name = tool.spec.name
        keys = _keys(name)
        if first.keys().isdisjoint(keys):  # as nearly always
            first.update(dict.fromkeys(keys, tool))
            continue
        twin = next((near for key in keys if (near := first.get(key)) and _is_near(name, near.spec.name)), None)
        for key in keys:
            first.setdefault(key, tool)
        if twin:
            message = f"'{name}' is easily taken for '{twin.spec.name}', the tool at {twin.span('name')}"
            hint = "choose names that differ in a word, e.g. list_users beside get_user"
            yield Diagnostic(codes.SIMILAR_NAME, message, tool.span("name"), hint)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _keys(name: str) -> list[str]:
    plain = _plain(name)
    places = range(len(plain)) if len(plain) >= _SHORTEST else ()
    return [plain, *[plain[:index] + plain[index + 1 :] for index in places]]


def _is_near(name: str, other: str) -> bool:
    """Whether two names that share a key are near, and not one name in other letters, which is an error."""
    one, two = _plain(name), _plain(other)
    if name.lower() == other.lower() or _digits(one) != _digits(two):
        return False
    return one == two or len(one) != len(two) or sorted(one) == sorted(two)


def _digits(name: str) -> str:
    """The digits of a name: ``sha1_sum`` and ``sha256_sum`` are told apart by them."""
    return "".join(character for character in name if character.isdigit())
