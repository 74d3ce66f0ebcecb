"""Conformance of the engines: hostile tools."""

import conformance_outcomes

CHAPTERS = ("Hostile tools",)

test_result_is_as_expected = conformance_outcomes.test_result_is_as_expected
test_engines_agree = conformance_outcomes.test_engines_agree
