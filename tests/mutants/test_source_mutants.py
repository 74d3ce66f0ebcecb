"""The mistakes that ``make mutants`` makes, and that its sample does not depend on line numbers."""

import ast

import pytest
from measuring import probed
from project.paths import ROOT
from source_mutants import mutants, sample

SOURCE = b'''\
"""Text."""
from typing import Final, Literal


KEY: Final[str] = "pattern"
Mode = Literal["ro"]


def shown(value: int = 1) -> bool:
    """Return whether it is shown."""
    if not value or value > 3 and KEY in ("a b", f"{value}"):
        raise ValueError(f"{value} is wrong")
    assert value
    print(value)
    return (value) == True
'''


def changes(source: bytes) -> list[str]:
    return sorted(f"{each.line}: {each.before} -> {each.after}" for each in mutants("a.py", source))


def test_mutants_change_only_code_that_runs() -> None:
    assert changes(SOURCE) == sorted([
        "5: \"pattern\" -> 'not_pattern'", "9: 1 -> 2", "11: or -> and", "11: not  -> ", "11: and -> or",
        "11: > -> >=", "11: 3 -> 4", "11: in -> not in", '12: raise ValueError(f"{value} is wrong") -> pass',
        "14: print(value) -> pass", "15: return (value) == True -> return None", "15: == -> !=", "15: True -> False",
    ])  # fmt: skip


def test_probes_are_before_the_statements_of_mutants_and_in_each_function() -> None:
    chosen = {each.number: each.start for each in mutants("a.py", SOURCE) if each.before in {"or", "print(value)", "1"}}
    number_of = {each.before: each.number for each in mutants("a.py", SOURCE) if each.number in chosen}
    (function,) = (each for each in probed("a.py", SOURCE, chosen).body if isinstance(each, ast.FunctionDef))
    assert ast.get_docstring(function) == "Return whether it is shown."
    assert [ast.unparse(each).partition("\n")[0] for each in function.body[1:]] == [
        "_mutants_ran('a.py')",
        f"_mutants_ran('{number_of['or']}')",
        "if not value or (value > 3 and KEY in ('a b', f'{value}')):",
        "assert value",
        f"_mutants_ran('{number_of['print(value)']}')",
        "print(value)",
        "return value == True",
    ]


def test_each_mistake_is_valid_python() -> None:
    for each in mutants("a.py", SOURCE):
        compile(each.apply(SOURCE), "a.py", "exec")


def test_numbers_are_unique_and_do_not_depend_on_lines() -> None:
    numbers = [each.number for each in mutants("a.py", SOURCE)]
    assert len(set(numbers)) == len(numbers)
    assert numbers == [each.number for each in mutants("a.py", b"\n\n" + SOURCE)]


def test_sample_is_always_the_same() -> None:
    assert sample(ROOT, ["policy"], 20) == sample(ROOT, ["policy"], 20)
    assert {*sample(ROOT, ["policy"], 10)} < {*sample(ROOT, ["policy"], 20)}


@pytest.mark.parametrize("operator", ["is", "is not", "not in"])
def test_operators_of_two_words_are_replaced(operator: str) -> None:
    source = f"x = a {operator} b\n".encode()
    (found,) = mutants("a.py", source)
    assert found.before == operator


def test_false_becomes_true() -> None:
    assert changes(b"def f():\n    return False\n") == ["2: False -> True"]
