"""Conformance of the engines: programs, functions, plugins and their output."""

from conformance_outcomes import test_engines_agree, test_result_is_as_expected

__all__ = ["test_engines_agree", "test_result_is_as_expected"]

CHAPTERS = ("Programs", "Output", "Python tools", "Plugins", "Streaming")
