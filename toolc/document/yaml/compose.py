"""Parse YAML text to PyYAML's nodes, without the types of YAML 1.1 and with a limit for the depth.

libyaml's composer calls itself once per level and crashes the process on text that is nested deeply
enough, so text that might be is measured first, event by event.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import yaml

from toolc.document.syntax_errors import MAX_DEPTH, TooDeepError
from toolc.model.source import Position

__all__ = [
    "scalars",
]

PLAIN: Final = "plain"
"""The tag of an unquoted scalar without a tag of its own; quoted ones and collections have ``""``."""

_SAFE_DEPTH: Final = 1000
_UNQUOTED: Final = (True, False)
"""PyYAML's mark of a scalar that needs no tag because it is plain rather than quoted."""


class Mark(Protocol):
    """What libyaml's marks and PyYAML's own share: a line and a column, both from 0."""

    line: int
    column: int


def position(mark: Mark | None) -> Position:
    """The place of a mark, which PyYAML sets on all that it reads."""
    assert mark is not None
    return Position(mark.line + 1, mark.column + 1)


class _Unresolved:
    """Replaces PyYAML's resolver: the tag of a scalar is how it was written rather than its type."""

    # Called before and after each node, to do nothing: what is not a method does that in a third of the time.
    descend_resolver: Callable[..., Any] = operator.is_
    ascend_resolver: Callable[..., Any] = bool

    def resolve(self, _kind: object, _value: object, implicit: object) -> str:
        """The tag of a node that has none of its own."""
        return PLAIN if implicit == _UNQUOTED else ""


class PureLoader(_Unresolved, yaml.SafeLoader):
    """PyYAML's own parser, for where libyaml is missing."""


def compose(text: str) -> list[yaml.Node]:
    """The root node of each document in ``text``; a tag that was not written is ``PLAIN`` or empty.

    Raises ``yaml.YAMLError`` for text that is not YAML and ``TooDeepError``.
    """
    if text.endswith(" "):
        text += "\n"  # libyaml takes blanks at the end of a file for a last line of a block of text
    loader_class = _loader_class()
    if loader_class is PureLoader or _depth_bound(text) > _SAFE_DEPTH:
        _measure(loader_class(text))
    loader = loader_class(text)
    try:
        documents = []
        while loader.check_node():
            node = loader.get_node()
            assert node is not None
            documents.append(node)
        return documents
    finally:
        loader.dispose()


def tokens(text: str) -> Iterator[yaml.Token]:
    """The tokens of YAML text. Raises ``yaml.YAMLError`` for text that is not YAML."""
    yield from yaml.scan(text, Loader=_loader_class())


def scalars(text: str) -> Iterator[tuple[Position, Position]]:
    """Where each scalar of YAML text stands, a block's without the line that announces it.

    Raises ``yaml.YAMLError`` for text that is not YAML.
    """
    for token in tokens(text):
        if isinstance(token, yaml.ScalarToken):
            start = position(token.start_mark)
            yield Position(start.line + 1, 1) if token.style in {"|", ">"} else start, position(token.end_mark)


def _depth_bound(text: str) -> int:
    """A depth that ``text`` cannot exceed: a nested block starts further right, or one dash under its key."""
    return text.count("[") + text.count("{") + 2 * max(map(len, text.split("\n")))


def _measure(loader: yaml.SafeLoader | yaml.CSafeLoader) -> None:
    depth = 0
    try:
        while event := loader.get_event():
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    assert event.start_mark is not None
                    raise TooDeepError(event.start_mark.index)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    finally:
        loader.dispose()


def _loader_class() -> type[yaml.SafeLoader | yaml.CSafeLoader]:
    return _FastLoader if yaml.__with_libyaml__ else PureLoader


if yaml.__with_libyaml__:

    class _FastLoader(_Unresolved, yaml.CSafeLoader):
        """libyaml's parser, about fifteen times as fast."""
