"""Conformance of the engines: programs, functions, plugins and their output."""

import conformance_outcomes

CHAPTERS = ("Programs", "Output", "Python tools", "Plugins", "Streaming")

test_result_is_as_expected = conformance_outcomes.test_result_is_as_expected
test_engines_agree = conformance_outcomes.test_engines_agree
