"""Parse YAML text to PyYAML's nodes, without the types of YAML 1.1 and with a limit for the depth.

libyaml's composer is recursive and crashes the process on deeply nested text. If text might be nested too deeply, its
depth is therefore measured first, event by event.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import yaml

from toolc.document.syntax_errors import MAX_DEPTH, TooDeepError
from toolc.model.source import Position

PLAIN: Final = "plain"
"""The tag of an unquoted scalar without an explicit tag. Quoted scalars and collections have ``""``."""

_SAFE_DEPTH: Final = 1000
"""The depth up to which libyaml cannot exhaust the stack. The Python parser first measures text that may be deeper."""

_UNQUOTED: Final = (True, False)
"""PyYAML's ``implicit`` value for a plain scalar, whose tag is resolved from its text."""


class Mark(Protocol):
    """The common interface of libyaml's and PyYAML's marks: a line and a column, both counted from 0."""

    line: int
    column: int


def position(mark: Mark | None) -> Position:
    """Return the position of a mark, which PyYAML sets for everything that it reads."""
    assert mark is not None
    return Position(mark.line + 1, mark.column + 1)


class _Unresolved:
    """Replaces PyYAML's resolver. The tag of a scalar says how it was written, not which type it has."""

    # These are called before and after each node and do nothing. Builtins take a third of the time of methods.
    descend_resolver: Callable[..., Any] = operator.is_
    ascend_resolver: Callable[..., Any] = bool

    def resolve(self, _kind: object, _value: object, implicit: object) -> str:
        """Return the tag of a node without an explicit tag."""
        return PLAIN if implicit == _UNQUOTED else ""


class PureLoader(_Unresolved, yaml.SafeLoader):
    """PyYAML's own parser, for systems without libyaml."""


def compose(text: str) -> list[yaml.Node]:
    """Return the root node of each document in ``text``. A node without a tag has the tag ``PLAIN`` or an empty one.

    Raises ``yaml.YAMLError`` for text that is not YAML, and ``TooDeepError``.
    """
    if text.endswith(" "):
        text += "\n"  # libyaml reads blanks at the end of a file as the last line of a block scalar
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
    """Yield the tokens of YAML text. Raises ``yaml.YAMLError`` for text that is not YAML."""
    yield from yaml.scan(text, Loader=_loader_class())


def scalars(text: str) -> Iterator[tuple[Position, Position]]:
    """Yield the start and end of each scalar, without the ``|`` or ``>`` line of a block. Raises ``yaml.YAMLError``."""
    for token in tokens(text):
        if isinstance(token, yaml.ScalarToken):
            start = position(token.start_mark)
            yield Position(start.line + 1, 1) if token.style in {"|", ">"} else start, position(token.end_mark)


def _depth_bound(text: str) -> int:
    """Return an upper bound for the depth: a nested block is indented further, or starts with a dash under its key."""
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
    except yaml.MarkedYAMLError as error:
        # libyaml 0.2.6 and newer limits the depth itself, while it looks ahead for a key.
        if error.problem == "exceeded maximum nesting depth" and error.problem_mark is not None:
            raise TooDeepError(error.problem_mark.index) from error
        raise
    finally:
        loader.dispose()


def _loader_class() -> type[yaml.SafeLoader | yaml.CSafeLoader]:
    return _FastLoader if yaml.__with_libyaml__ else PureLoader


if yaml.__with_libyaml__:

    class _FastLoader(_Unresolved, yaml.CSafeLoader):
        """libyaml's parser, which is about fifteen times as fast."""
