"""The tree of an ECMA-262 pattern, and its conversion to a Python pattern.

The Python pattern uses only forms with the same meaning. Character classes become lists of ranges, ``$`` becomes
``\\Z``, and groups without a back-reference do not capture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, product
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.validation.character_sets import Ranges, written

MAX_VARIANTS: Final = 64
MAX_VARIABLE: Final = 255
"""The maximum number of variants of a lookbehind, and of characters in a lookbehind of variable length.

A lookbehind in Python can match only one length, so each variant becomes a separate assertion.
"""

MAX_WRITTEN: Final = 500_000
"""The maximum number of characters of a Python pattern.

Classes become lists of ranges, so this is fifty times the maximum for an ECMA-262 pattern.
"""

TOO_LARGE: Final = "the pattern is too large"

_MAX_COUNT: Final = 2**32 - 2
"""The maximum count of a quantifier in Python. No text is that long."""


class PatternError(ValueError):
    """Raised for an invalid pattern. It has the reason, the range of characters (from 0), and a hint."""

    def __init__(self, message: str, start: int, end: int, hint: str = "") -> None:
        super().__init__(message)
        self.start = start
        self.end = end
        self.hint = hint


class UnsupportedPatternError(PatternError):
    """Raised for a valid pattern that has no equivalent in Python or exceeds a limit."""


# Nodes are compared by identity. ``low`` and ``high`` are the lengths of the texts that a node can match.


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """One character out of a set."""

    ranges: Ranges
    low: float = 1
    high: float = 1


@dataclass(frozen=True, slots=True, eq=False)
class Assertion:
    """An assertion without content, in Python's syntax."""

    text: str
    low: float = 0
    high: float = 0


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Parts that follow each other."""

    parts: tuple[Node, ...]
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", sum(part.low for part in self.parts))
        object.__setattr__(self, "high", sum(part.high for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Alternatives."""

    parts: tuple[Node, ...]
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", min(part.low for part in self.parts))
        object.__setattr__(self, "high", max(part.high for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A capturing group and its number."""

    number: int
    body: Node
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", self.body.low)
        object.__setattr__(self, "high", self.body.high)


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """A part that is repeated from ``least`` to ``most`` times. ``mark`` is ``?`` for a lazy repetition."""

    body: Node
    least: int
    most: float
    mark: str
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", self.body.low * self.least)
        object.__setattr__(self, "high", self.body.high * self.most if self.body.high and self.most else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Lookaround:
    """A lookahead or lookbehind from ``start`` to ``end`` of the pattern, with its opening in Python's syntax."""

    opening: str
    body: Node
    start: int
    end: int
    low: float = 0
    high: float = 0

    @property
    def is_negative(self) -> bool:
        """Whether the body must not match."""
        return self.opening.endswith("!")

    @property
    def is_behind(self) -> bool:
        """Whether the body is compared with the text before the position."""
        return "<" in self.opening


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A back-reference to a group, from ``start`` to ``end`` of the pattern."""

    group: int | str
    start: int
    end: int
    low: float = 0
    high: float = math.inf


Node: TypeAlias = Set | Assertion | Sequence | Choice | Group | Repeat | Lookaround | Reference

EMPTY: Final = Sequence(())

_Path: TypeAlias = tuple[tuple[Node, int], ...]
"""The nodes from the root of a tree to a node, each with the index of the part that contains the node."""


def write(root: Node, names: dict[str, int]) -> str:
    """Return the tree as a Python pattern. Raises ``UnsupportedPatternError`` if a part of it has no equivalent."""
    paths = list(_paths(root, ()))
    groups = {node.number: path for node, path in paths if isinstance(node, Group)}
    targets: dict[int, int] = {}
    for node, path in paths:
        if isinstance(node, Reference):
            number = names[node.group] if isinstance(node.group, str) else node.group
            targets[id(node)] = number if _can_be_set(node, path, groups[number]) else 0
    kept = sorted(set(targets.values()) - {0})
    writer = _Writer({number: index for index, number in enumerate(kept, 1)}, targets)
    return writer.write(root)


def _paths(node: Node, path: _Path) -> Iterator[tuple[Node, _Path]]:
    """Yield groups and references, each with its path."""
    match node:
        case Sequence() | Choice():
            for index, part in enumerate(node.parts):
                yield from _paths(part, (*path, (node, index)))
        case Group() | Repeat() | Lookaround():
            if isinstance(node, Group):
                yield node, path
            yield from _paths(node.body, (*path, (node, 0)))
        case Reference():
            yield node, path
        case _:
            pass


def _can_be_set(node: Reference, path: _Path, group: _Path) -> bool:
    """Return whether a group can have a match when a reference reads it. If not, the reference matches the empty text.

    In ECMA-262, each repetition of a loop discards the matches of its groups from the previous repetition. Python keeps
    them.
    """
    shared = next((n for n, (one, two) in enumerate(zip(path, group, strict=False)) if one != two), len(group))
    if shared == len(group) or isinstance(path[shared][0], Choice) or group[shared][1] > path[shared][1]:
        return False
    inner = [each for each, _ in group[shared + 1 :]]
    if any(isinstance(each, Lookaround) and each.is_negative for each in inner):
        return False
    if any(isinstance(each, Lookaround) and each.is_behind for each, _ in (*path, *group)):
        message = "a back-reference cannot be combined with a lookbehind"
        raise UnsupportedPatternError(message, node.start, node.end, "repeat the text of the group instead")
    loops = [each for each, _ in group if isinstance(each, Repeat) and each.most > 1]
    is_optional = any(isinstance(each, Choice) or (isinstance(each, Repeat) and not each.least) for each in inner)
    if (is_optional and loops) or any(each in inner and not each.body.low for each in loops):
        message = "a back-reference cannot refer to a group that some repetitions of a loop skip"
        raise UnsupportedPatternError(message, node.start, node.end, "move the group out of the loop")
    return True


@dataclass(slots=True)
class _Writer:
    """Writes nodes. ``numbers`` has the new numbers of groups, and ``targets`` the groups of references, or 0."""

    numbers: dict[int, int]
    targets: dict[int, int]
    length: int = 0

    def write(self, node: Node) -> str:
        text = written(node.ranges) if isinstance(node, Set) else ""
        self.length += len(text) or 2
        if self.length > MAX_WRITTEN:
            raise UnsupportedPatternError(TOO_LARGE, 0, 0, "use fewer classes and lookbehinds")
        match node:
            case Set():
                return text
            case Assertion():
                return node.text
            case Sequence():
                return "".join(self._item(part) for part in node.parts)
            case Choice():
                return "|".join(self.write(part) for part in node.parts)
            case Group():
                opening = "(" if node.number in self.numbers else "(?:"
                return f"{opening}{self.write(node.body)})"
            case Repeat():
                return f"{self._atom(node.body)}{_quantifier(node)}{node.mark}"
            case Lookaround() if node.is_behind:
                return self._behind(node)
            case Lookaround():
                return f"{node.opening}{self.write(node.body)})"
            case Reference():
                target = self.targets[id(node)]
                number = self.numbers.get(target, 0)
                return f"(?({number})\\{number})" if target else "(?:)"

    def _item(self, node: Node) -> str:
        return self._atom(node) if isinstance(node, Choice) else self.write(node)

    def _atom(self, node: Node) -> str:
        text = self.write(node)
        return text if isinstance(node, Set | Group) else f"(?:{text})"

    def _behind(self, node: Lookaround) -> str:
        body = _with_short_start(node.body)
        variants = [body]
        if body.low < body.high:
            variants = _few_variants(body) if body.high <= MAX_VARIABLE else []
            if not 0 < len(variants) <= MAX_VARIANTS:
                message = "a lookbehind cannot match texts of unlimited or very many lengths"
                hint = "write it without *, + and {n,}, or match the text itself"
                raise UnsupportedPatternError(message, node.start, node.end, hint)
        found = [f"{node.opening}{self.write(each)})" for each in variants]
        return "".join(found) if node.is_negative else f"(?:{'|'.join(found)})"


def _with_short_start(node: Node) -> Node:
    """Return the body of a lookbehind without the repetitions at its start, because they make no difference there."""
    match node:
        case Sequence() if node.parts:
            return Sequence((_with_short_start(node.parts[0]), *node.parts[1:]))
        case Choice():
            return Choice(tuple(map(_with_short_start, node.parts)))
        case Group():
            return _with_short_start(node.body)
        case Repeat():
            return Repeat(node.body, node.least, node.least, "")
        case _:
            return node


def _few_variants(node: Node) -> list[Node]:
    return list(islice(_variants(node), MAX_VARIANTS + 1))


def _variants(node: Node) -> Iterator[Node]:
    """Yield nodes that each match a single length and together match the same texts."""
    if node.low == node.high:
        yield node
        return
    match node:
        case Sequence():
            yield from map(Sequence, product(*(_few_variants(part) for part in node.parts)))
        case Choice():
            for part in node.parts:
                yield from _variants(part)
        case Group():
            yield from _variants(node.body)
        case Repeat():
            for count in range(node.least, int(node.most) + 1):
                yield from _variants(Sequence((node.body,) * count))
        case _:
            yield node


def _quantifier(node: Repeat) -> str:
    least = min(node.least, _MAX_COUNT)
    match least, node.most:
        case 0, 1:
            return "?"
        case 0, math.inf:
            return "*"
        case 1, math.inf:
            return "+"
        case _ if node.most > _MAX_COUNT:
            return f"{{{least},}}"
        case _:
            return f"{{{least},{int(node.most)}}}"
