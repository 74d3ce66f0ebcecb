"""Conformance of the engines: hostile tools."""

from conformance_outcomes import test_engines_agree, test_result_is_as_expected

__all__ = ["test_engines_agree", "test_result_is_as_expected"]

CHAPTERS = ("Hostile tools",)
