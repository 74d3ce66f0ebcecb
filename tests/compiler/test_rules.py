"""The pages: one for each number, with examples that are run, and the document that is made of them."""

from __future__ import annotations

import re

import pytest

from toolc.compiler import codes
from toolc.compiler.checks import SET_CHECKS, TOOL_CHECKS
from toolc.compiler.examples import compile_example
from toolc.compiler.rule import Rule
from toolc.compiler.rules import READING, RULES
from toolc.reporters.text import render

every_rule = pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.number) for rule in RULES.values()])


def test_every_code_is_on_one_page() -> None:
    pages = [code for rule in RULES.values() for code in rule.codes]
    assert {code.summary: pages.count(code) for code in codes.ALL} == {code.summary: 1 for code in codes.ALL}
    assert len(pages) == len(codes.ALL)


def test_no_two_pages_have_one_number() -> None:
    rules = [*READING, *(check.RULE for check in TOOL_CHECKS), *(check.RULE for check in SET_CHECKS)]
    assert [rule.number for rule in rules if RULES[rule.number] is not rule] == []


def test_pages_stand_under_their_numbers_in_order() -> None:
    assert list(RULES) == sorted(rule.number for rule in RULES.values())


@every_rule
def test_a_page_is_about_one_number_and_explains_it(rule: Rule) -> None:
    assert {code.number for code in rule.codes} == {rule.number}
    sentences = re.findall(r"[.!?](?=\s)", rule.explanation)
    assert len(sentences) >= 2
    assert rule.explanation == rule.explanation.strip() + "\n"


@every_rule
def test_the_bad_example_has_a_finding_of_its_number_and_no_other_error(rule: Rule) -> None:
    found = compile_example(rule, rule.bad).diagnostics.sorted()
    assert rule.number in {each.code.number for each in found}
    assert {each.code.number for each in found if each.is_error} <= {rule.number}


@every_rule
def test_the_good_example_has_no_finding(rule: Rule) -> None:
    compilation = compile_example(rule, rule.good)
    assert render(compilation.diagnostics, color=False) == ""
    assert compilation.registry().tools
