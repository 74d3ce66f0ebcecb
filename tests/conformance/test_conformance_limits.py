"""Conformance of the engines: files, limits and attempts on the host."""

import conformance_outcomes

CHAPTERS = ("Users and files", "Limits and endings", "Attempts on the host")

test_result_is_as_expected = conformance_outcomes.test_result_is_as_expected
test_engines_agree = conformance_outcomes.test_engines_agree
