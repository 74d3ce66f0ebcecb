"""The pages: one for each number, with examples that are run, and the document that is made of them."""

from __future__ import annotations

import re

import pytest

from toolc.compiler import codes
from toolc.compiler.checks import SET_CHECKS, TOOL_CHECKS, check_each
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
def test_the_bad_example_has_findings_of_its_number_and_no_others(rule: Rule) -> None:
    found = compile_example(rule, rule.bad).diagnostics.sorted()
    assert {each.code.number for each in found} == {rule.number}


COMPANIONS: dict[str, set[str]] = {codes.CALL_CIRCLE.number: {codes.DANGLING.number}}
"""Numbers that a check reports beside its own, where one look at a tool tells both."""


@every_rule
def test_a_check_reports_its_own_number_whatever_the_tool(rule: Rule) -> None:
    located = compile_example(rule, rule.bad).located
    for each in TOOL_CHECKS:
        numbers = {found.code.number for found in check_each(located, [each])}
        assert numbers <= {each.RULE.number} | COMPANIONS.get(each.RULE.number, set())
    for every in SET_CHECKS:
        numbers = {found.code.number for found in every.check(located)}
        assert numbers <= {every.RULE.number} | COMPANIONS.get(every.RULE.number, set())


@every_rule
def test_the_good_example_has_no_finding(rule: Rule) -> None:
    compilation = compile_example(rule, rule.good)
    assert render(compilation.diagnostics, color=False) == ""
    assert compilation.registry().tools
