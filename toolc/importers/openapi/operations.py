"""The operations of a document: which are selected, and the names of their tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final

from toolc.dataclass import dataclass
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, map_under

MAX_NAME: Final = 44
"""The maximum length of a name: the 64 characters of all providers, less 20 for the prefix that a client adds."""

MAX_WITHOUT_CHOICE: Final = 60
"""The maximum number of operations that are imported without a choice. Models choose badly among more tools."""

_METHODS: Final = ("get", "head", "options", "post", "put", "patch", "delete", "trace", "query")
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. ``base`` is the document that contains it, and ``tokens`` is its path in the main document."""

    method: str
    path: str
    value: JsonObject
    shared: JsonObject
    base: str
    tokens: tuple[str, ...]

    @property
    def key(self) -> str:
        """The method and path, which identify the operation."""
        return f"{self.method} {self.path}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the operation."""
        tags = self.value.get("tags")
        return tuple(each for each in tags if isinstance(each, str) and each.strip()) if isinstance(tags, list) else ()

    @property
    def identity(self) -> str:
        """The ``operationId``, or an empty string."""
        identity = self.value.get("operationId")
        return identity if isinstance(identity, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which operations are imported. Each entry of ``only`` and ``exclude`` is a pattern, a tag or an operation."""

    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    is_read_only: bool = False
    is_all: bool = False


def operations(document: Document) -> list[Operation]:
    """Return all operations, in the order of the document."""
    found: list[Operation] = []
    for path, item in map_under(document.root, "paths").items():
        try:
            shared, base = document.object_at(item, document.base)
        except LeftOutError:
            continue
        if not path.startswith("/"):
            continue
        for method in _METHODS:
            value = shared.get(method)
            if isinstance(value, dict):
                tokens = ("paths", path, method)
                found.append(
                    Operation(method=method.upper(), path=path, value=value, shared=shared, base=base, tokens=tokens)
                )
    return found


def selected(found: Sequence[Operation], choice: Choice) -> list[Operation]:
    """Return the chosen operations. Raises ``UsageError`` if there are none, or too many without a choice."""
    for pattern in (*choice.only, *choice.exclude):
        if not any(_matches(each, pattern) for each in found):
            raise UsageError(f"no operation matches {pattern!r}; write a tag, an operationId, or 'METHOD /path'")
    kept = [
        each for each in found
        if (not choice.only or any(_matches(each, pattern) for pattern in choice.only))
        and not any(_matches(each, pattern) for pattern in choice.exclude)
        and (not choice.is_read_only or each.method in READING)
    ]  # fmt: skip
    if not kept:
        raise UsageError("the document has no operation to import" if not found else "no operation is left to import")
    if len(kept) > MAX_WITHOUT_CHOICE and not choice.only and not choice.is_all:
        counts = Counter(tag for each in kept for tag in each.tags or ("(without a tag)",))
        listed = "\n".join(f"  {count:5,}  {tag}" for tag, count in counts.most_common())
        raise UsageError(
            f"the document has {len(kept):,} operations, and models choose badly among so many tools; "
            f"choose some with --only TAG, or import all with --all. The tags are:\n{listed}"
        )
    return kept


def _matches(operation: Operation, pattern: str) -> bool:
    names = {operation.identity, operation.path, operation.key, *operation.tags, _stem(operation)}
    return any(fnmatchcase(name, pattern) for name in names if name)


def names_of(
    found: Iterable[Operation], prefix: str, renamed: Mapping[str, str], recorded: Mapping[str, str]
) -> dict[str, str]:
    """Return the tool name of each operation, by the key of the operation.

    A name depends only on its operation. If two operations would get the same name, the operation that has it in
    ``recorded``, from the last import, keeps it. ``renamed`` maps generated names, operationIds or keys to the names
    that the user wants. Raises ``UsageError`` if ``renamed`` has an entry that fits no operation.
    """
    names: dict[str, str] = {}
    unused = {*renamed}
    for each in sorted(found, key=lambda each: (each.key not in recorded, each.key)):
        own = _shortened(prefix + _stem(each), each.key)
        known = {own, each.identity, each.key} & renamed.keys()
        unused -= known
        chosen = renamed[min(known)] if known else ""
        name = chosen or recorded.get(each.key) or own
        names[each.key] = name if name not in names.values() else _shortened(own, each.key, is_taken=True)
    if unused:
        raise UsageError(f"there is no operation {min(unused)!r} to rename")
    return names


def _stem(operation: Operation) -> str:
    text = operation.identity or f"{operation.method.lower()} {operation.path}"
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    stem = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
    if not stem:
        return "operation"
    return f"op_{stem}" if stem[0].isdigit() else stem


def _shortened(name: str, key: str, *, is_taken: bool = False) -> str:
    if len(name) <= MAX_NAME and not is_taken:
        return name
    mark = sha256(key.encode()).hexdigest()[:6]
    return f"{name[: MAX_NAME - 7].rstrip('_')}_{mark}"
