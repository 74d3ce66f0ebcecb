"""One contract: every behaviour on every engine, as expected and the same everywhere but for named differences."""

from __future__ import annotations

import json

import pytest
from configurations import CONFIGURATIONS
from conformance_case import mismatches
from conformance_outcomes import Outcomes
from conformance_suite import BY_NAME

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    """What came of the selected cases; each configuration runs all of them at once, when it is first asked."""
    wanted = {_name(item) for item in request.session.items}
    return Outcomes([case for name, case in BY_NAME.items() if name in wanted])


def _name(item: pytest.Item) -> object:
    return item.callspec.params.get("name") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("name", BY_NAME)
def test_the_behaviour_is_as_expected(outcomes: Outcomes, configuration: str, name: str) -> None:
    found = outcomes.of(configuration)[name]
    wrong = mismatches(found, {**BY_NAME[name].expected(configuration), "survivors": []})
    if wrong:
        pytest.fail("\n".join([*wrong, f"in: {json.dumps(found)[:2000]}"]), pytrace=False)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_engines_agree(outcomes: Outcomes, name: str) -> None:
    case = BY_NAME[name]
    first, *others = [each for each in CONFIGURATIONS if each not in case.differs and outcomes.is_ready(each)]
    compared = outcomes.of(first)[name]
    # Who a tool is has cases of its own; what it used, a sandbox that died with it cannot say.
    left_out = {"user", *case.varies} | ({"usage"} if compared.get("outcome") != "exited" else set())
    one = {key: value for key, value in compared.items() if key not in left_out}
    wrong = [
        f"{other}, against {first}: {line}" for other in others for line in mismatches(outcomes.of(other)[name], one)
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
