"""The outcomes of the cases in each configuration, and the two tests of each case.

A module that uses the tests names its chapters of the suite in ``CHAPTERS`` (see ``conftest.py``).
"""

from collections.abc import Mapping
from typing import Final, cast

import pytest
from conformance_batch import run_batch
from conformance_case import Case, mismatches, shortened
from engines.configurations import ALL_CONFIGURATIONS, CONFIGURATIONS, FORKED, NEWER_DOCKER, PODMAN, WARM

from toolc.model.json_schema import JsonObject

REFERENCES: Final = ("docker", "oci root")
"""The configurations with which the others are compared, best first."""


class Outcomes:
    """Envelopes by configuration and case. The first test of a configuration runs all cases in it."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases
        self._found: dict[str, dict[str, JsonObject] | str] = {}

    def check(self, configuration: str, name: str) -> None:
        """Fail unless the case has the expected envelope. Skip if the configuration is not available."""
        found = self._of(configuration)
        if isinstance(found, str):
            pytest.skip(found)
        like = ALL_CONFIGURATIONS[configuration].like or configuration
        wrong = mismatches(found[name], {**self._cases[name].expected(like), "survivors": []})
        if wrong:
            pytest.fail("\n".join([*wrong, f"in: {shortened(found[name])}"]), pytrace=False)

    def check_agreement(self, configuration: str, name: str) -> None:
        """Fail if the case has another envelope than in the first reference configuration without a difference."""
        case = self._cases[name]
        reference = next((each for each in REFERENCES if each not in case.differs), configuration)
        like = ALL_CONFIGURATIONS[configuration].like or configuration
        if configuration == reference or like in case.differs:
            return
        expected, found = self._of(reference), self._of(configuration)
        if isinstance(expected, str):
            pytest.skip(expected)
        if isinstance(found, str):
            pytest.skip(found)
        # Other cases test the user of a tool. The usage of a sandbox that died is unknown.
        left_out = {"user", *case.varies} | ({"usage"} if expected[name].get("outcome") != "exited" else set())
        wrong = mismatches(found[name], {key: value for key, value in expected[name].items() if key not in left_out})
        if wrong:
            pytest.fail("\n".join([f"compared with {reference}:", *wrong]), pytrace=False)

    def _of(self, configuration: str) -> dict[str, JsonObject] | str:
        """Return the envelope of each case by name, or why the configuration is not available."""
        if configuration not in self._found:
            self._found[configuration] = f"{configuration}: its cases could not run"
            self._found[configuration] = ALL_CONFIGURATIONS[configuration].lacks() or self._run(configuration)
        return self._found[configuration]

    def _run(self, configuration: str) -> dict[str, JsonObject]:
        chosen = ALL_CONFIGURATIONS[configuration]
        found = chosen.run(lambda engine: {**run_batch(engine, self._cases.values(), chosen.sandbox, chosen.pool)})
        return cast("dict[str, JsonObject]", found)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "configuration",
    [
        *CONFIGURATIONS,
        *(each.name for each in (*WARM, *FORKED)),
        *(pytest.param(each.name, marks=pytest.mark.integrations) for each in (PODMAN, NEWER_DOCKER)),
    ],
)
def test_result_is_as_expected(outcomes: Outcomes, configuration: str, name: str) -> None:
    outcomes.check(configuration, name)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "configuration",
    [*(each for each in CONFIGURATIONS if each != REFERENCES[0]), *(each.name for each in (*WARM, *FORKED))],
)
def test_engines_agree(outcomes: Outcomes, configuration: str, name: str) -> None:
    outcomes.check_agreement(configuration, name)
