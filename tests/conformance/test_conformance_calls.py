"""Conformance of the engines: programs, functions, plugins and their output."""

import pytest
from configurations import CONFIGURATIONS
from conformance_outcomes import Outcomes
from conformance_suite import cases_of

CASES = cases_of("Programs", "Output", "Python tools", "Plugins", "Streaming")

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("name", CASES)
def test_result_is_as_expected(outcomes: Outcomes, configuration: str, name: str) -> None:
    outcomes.check(configuration, name)


@pytest.mark.parametrize("name", CASES)
def test_engines_agree(outcomes: Outcomes, name: str) -> None:
    outcomes.check_agreement(name)
