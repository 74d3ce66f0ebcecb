"""Fixtures: the outcomes of the conformance cases, and calls that connect to local servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from conformance_outcomes import Outcomes
from conformance_suite import BY_NAME, cases_of
from egress_calls import Call, look_up
from local_servers import Servers, servers

from toolc.runtime.egress import polling

DEFAULT_CONFIGURATIONS: Final = ("docker", "oci root")
"""The configurations in which the cases run; ``--all-configurations`` adds the others, which take minutes."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--all-configurations``, deselect the cases in other than the default configurations."""
    if config.getoption("--all-configurations"):
        return
    others = [item for item in items if _configuration(item) not in {"", *DEFAULT_CONFIGURATIONS}]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if _configuration(item) in {"", *DEFAULT_CONFIGURATIONS}]


def _configuration(item: pytest.Item) -> str:
    """Return the configuration in which a conformance test runs its case; empty for other tests."""
    is_case = isinstance(item, pytest.Function) and "outcomes" in item.fixturenames
    return str(item.callspec.params.get("configuration", "")) if is_case and hasattr(item, "callspec") else ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests of cases with the names of the cases in the chapters of their module."""
    if "outcomes" in metafunc.fixturenames:
        metafunc.parametrize("name", cases_of(*metafunc.module.CHAPTERS))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    """Return the outcomes of the cases for which tests of this module are selected."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    own = [item for item in items if item.module is request.module and hasattr(item, "callspec")]
    cases = {name: BY_NAME[name] for item in own if isinstance(name := item.callspec.params.get("name"), str)}
    return Outcomes(cases, {_configuration(item) for item in own} - {""} or {*DEFAULT_CONFIGURATIONS})


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@pytest.fixture
def call(tmp_path: Path, there: Servers, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(polling, "look_up", look_up)
    return Call(tmp_path, there)
