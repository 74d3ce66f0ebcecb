"""The path of one call: the modules that pass a shell call on to another module, in the order of their first use.

``docs/explanation/architecture.md`` lists them. A module that only answers its caller, such as a parser or a type, can
be read by itself, so it is not a part of the path. Neither are callbacks into a module that waits for them.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import toolc
from toolc import Executor, Registry

pytestmark = [pytest.mark.needs_engine, pytest.mark.slow]

PACKAGE = Path(toolc.__file__).parent
PAGE = PACKAGE.parent / "docs/explanation/architecture.md"
MAX_MODULES = 20

SPEC = """\
toolc: 1
name: greet
description: Return a greeting for a person. Use it to say hello to someone by name.
parameters:
  name: {type: string, minLength: 1, maxLength: 50, description: "The name of the person, e.g. 'Ada'"}
backend:
  shell: {argv: [echo, "hello {{ name }}"]}
"""


def module_of(frame: FrameType) -> str:
    """Return the module of a function in toolc, without ``toolc.``. Other code and the types of the model have none."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name == "<module>" or not path.is_relative_to(PACKAGE):
        return ""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return "" if name.startswith("model.") else name


def callers(frame: FrameType) -> Iterator[str]:
    outer = frame.f_back
    while outer:
        if name := module_of(outer):
            yield name
        outer = outer.f_back


def test_a_shell_call_passes_through_the_modules_that_the_page_lists(tmp_path: Path) -> None:
    seen: dict[str, bool] = {}

    def record(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (name := module_of(frame)):
            outer = [*callers(frame)]
            seen.setdefault(name, False)
            if outer and name not in outer:
                seen[outer[0]] = True

    (tmp_path / "greet.yaml").write_text(SPEC, encoding="utf-8")
    with Executor(Registry.load(tmp_path), engine="oci", pool=None) as executor:
        executor.run("greet", {"name": "Ada"})  # creates what later calls share
        sys.setprofile(record)
        try:
            result = executor.run("greet", {"name": "Grace"})
        finally:
            sys.setprofile(None)
    assert result.text == "hello Grace\n"
    passed_on = [name for name, passes_on in seen.items() if passes_on]
    assert len(passed_on) <= MAX_MODULES
    section = PAGE.read_text(encoding="utf-8").partition("## The path of one call")[2].partition("\n## ")[0]
    assert [each.replace("/", ".") for each in re.findall(r"`toolc/([\w/]+)\.py`", section)] == passed_on
