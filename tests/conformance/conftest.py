"""Fixtures: the outcomes of the conformance cases, and calls that connect to local servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance_outcomes import Outcomes
from conformance_suite import BY_NAME, cases_of
from egress_calls import Call, look_up
from local_servers import Servers, servers

from toolc.runtime.egress import polling


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests of cases with the names of the cases in the chapters of their module."""
    if "outcomes" in metafunc.fixturenames:
        metafunc.parametrize("name", cases_of(*metafunc.module.CHAPTERS))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    """Return the outcomes of the cases for which tests of this module are selected."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    own = [item for item in items if item.module is request.module and hasattr(item, "callspec")]
    return Outcomes({name: BY_NAME[name] for item in own if isinstance(name := item.callspec.params.get("name"), str)})


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@pytest.fixture
def call(tmp_path: Path, there: Servers, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(polling, "look_up", look_up)
    return Call(tmp_path, there)
