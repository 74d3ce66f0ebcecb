"""The public API: the names in ``toolc.__all__`` with the signatures of their public methods.

A change of ``public_api.txt`` is a change for users. ``pytest --golden`` writes the file again.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path

import toolc

SNAPSHOT = Path(__file__).with_name("public_api.txt")


def lines(name: str, value: object) -> Iterator[str]:
    """Yield a line for a public name and, if it is a class, one for each public attribute."""
    if inspect.isfunction(value):
        yield f"{name}{inspect.signature(value)}"
    elif not isinstance(value, type):
        yield f"{name}: {'str' if isinstance(value, str) else 'type alias'}"
    else:
        bases = ", ".join(base.__name__ for base in value.__bases__)
        yield f"class {name}({bases}){' ' * bool(parameters(value))}{parameters(value)}"
        for attribute in sorted(dir(value)):
            if not attribute.startswith("_"):
                yield from member(f"    {attribute}", value, inspect.getattr_static(value, attribute))


def parameters(cls: type) -> str:
    """Return the parameters of a constructor; empty if it is that of ``object``, an exception or a tuple."""
    is_own = any("__init__" in vars(each) for each in cls.__mro__ if each.__module__.startswith("toolc"))
    if issubclass(cls, tuple):
        return str(inspect.signature(cls.__new__))
    return str(inspect.signature(cls.__init__)) if is_own else ""


def member(label: str, cls: type, value: object) -> Iterator[str]:
    """Yield the line of a public attribute; none for what the standard library defines."""
    if isinstance(value, classmethod | staticmethod):
        yield f"{label}{inspect.signature(value.__func__)}  [{type(value).__name__}]"
    elif isinstance(value, property):
        yield f"{label} -> {inspect.signature(value.fget).return_annotation}" if value.fget else label
    elif inspect.isfunction(value):
        if value.__module__.startswith("toolc"):
            yield f"{label}{inspect.signature(value)}"
    elif not inspect.ismethoddescriptor(value) and label.strip() not in dir(Exception):
        yield label


def test_the_public_api_changes_only_with_its_snapshot(golden: bool) -> None:
    found = [line for name in toolc.__all__ for line in lines(name, getattr(toolc, name))]
    text = "".join(f"{line}\n" for line in found)
    if golden:
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
