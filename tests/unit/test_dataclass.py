"""A dataclass of toolc behaves like one of the standard library."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from toolc.dataclass import dataclass, field, replace


def classes(decorator: Callable[..., Any]) -> tuple[Any, Any, Any, Any]:
    @decorator(frozen=True, slots=True)
    class Point:
        """Frozen, with all kinds of fields."""

        x: int
        y: float = 0.5
        tags: list[str] = field(default_factory=list, compare=False)
        total: float = field(init=False, repr=False)
        note: str = field(default="none", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    @decorator(slots=True, kw_only=True)
    class Counter:
        """Mutable."""

        count: int = 0
        seen: dict[str, int] = field(init=False, default_factory=dict)

    @decorator(frozen=True)
    class Parent:
        """Without ``slots``."""

        name: str = ""

    @decorator(frozen=True, eq=False)
    class Child(Parent):
        """Inherits a field, is compared like its parent and has its own text."""

        extra: bytes = b""

        def __repr__(self) -> str:
            return "child"

    @decorator(frozen=True, eq=False)
    class Identity:
        """Is compared by identity."""

        name: str = ""

    return Point, Counter, Child, Identity


OURS = classes(dataclass)
STANDARD = classes(dataclasses.dataclass)

Point, Counter, Child, Identity = OURS
"""At the top level of the module, so that they can be pickled."""
Point.__qualname__, Counter.__qualname__ = "Point", "Counter"


@pytest.mark.parametrize(("ours", "standard"), [*zip(OURS, STANDARD, strict=True)])
def test_fields_parameters_and_patterns_are_those_of_the_standard_library(ours: Any, standard: Any) -> None:
    def described(cls: Any) -> object:
        fields = [(each.name, each.type, each.init, each.kw_only) for each in dataclasses.fields(cls)]
        parameters = [(each.name, each.kind) for each in inspect.signature(cls).parameters.values()]
        return fields, parameters, cls.__match_args__, getattr(cls, "__slots__", None)

    assert described(ours) == described(standard)


def test_instances_have_values_defaults_and_new_collections() -> None:
    point = Point(1, note="here")
    assert (point.x, point.y, point.tags, point.total, point.note) == (1, 0.5, [], 1.5, "here")
    assert point.tags is not Point(1).tags
    assert Counter().seen is not Counter().seen
    assert Child("a", b"b").extra == b"b"


def test_a_missing_argument_is_an_error_that_names_the_class() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()


def test_equal_values_of_one_class_are_equal_and_have_one_hash() -> None:
    assert Point(1, tags=["a"]) == Point(1, tags=["b"])
    assert hash(Point(1)) == hash(Point(1, 0.5))
    assert Point(1) != Point(2)
    assert Point(1) != (1, 0.5)
    assert Counter(count=1) == Counter(count=1)
    assert Counter(count=1) != Counter(count=2)


def test_only_frozen_classes_that_are_compared_by_value_have_a_hash_of_their_values() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())
    assert Identity() != Identity()
    assert hash(Identity()) != hash(Identity())
    assert Child("a", b"b") == Child("a", b"c")


def test_frozen_fields_can_be_neither_assigned_nor_deleted() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    counter = Counter()
    counter.count = 2
    assert counter.count == 2


def test_the_text_of_an_instance_is_that_of_the_standard_library() -> None:
    assert repr(Point(1, tags=["a"])) == "Point(x=1, y=0.5, tags=['a'], note='none')"
    assert repr(Child()) == "child"
    counter = Counter()
    counter.seen["self"] = counter
    assert repr(counter) == "Counter(count=0, seen={'self': ...})"


@pytest.mark.parametrize("instance", [Point(1, 2.0, ["a"], note="b"), Counter(count=3)])
def test_an_instance_can_be_pickled_copied_and_replaced(instance: Any) -> None:
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert copy.deepcopy(instance) == instance
    assert dataclasses.is_dataclass(instance)
    assert replace(Point(1, 2.0), x=3) == Point(3, 2.0)
    assert dataclasses.asdict(Counter(count=3)) == {"count": 3, "seen": {}}
