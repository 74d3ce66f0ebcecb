"""Conformance of the engines: files, limits and attempts on the host."""

from conformance_outcomes import test_engines_agree, test_result_is_as_expected

__all__ = ["test_engines_agree", "test_result_is_as_expected"]

CHAPTERS = ("Users and files", "Limits and endings", "Attempts on the host")
