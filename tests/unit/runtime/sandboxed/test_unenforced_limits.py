import logging
from pathlib import Path

import pytest

from toolc import Executor, NoEngineError, Registry
from toolc.config.configuration import Configuration
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome
from toolc.sandbox.interface import Capabilities, Enforcement, unenforced_reason
from toolc.testing.fake_engine import FakeEngine

SPEC = """\
toolc: 1
name: nothing
description: Do nothing at all, for tests of toolc itself and for nothing else.
backend: {shell: {argv: ["true"]}}
"""


class Weak(FakeEngine):
    def capabilities(self) -> tuple[Capabilities, ...]:
        return (
            Capabilities(
                weak={"cpus": Enforcement(level="not", reason="No.", instead="nothing", remedy="Do something.")}
            ),
        )

    def unsupported_reason(self, profile: Profile) -> str | None:
        return unenforced_reason(self.capabilities()[0], profile)


def nothing(_: Plan) -> Outcome:
    return Outcome(ending="exited")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return Registry.load(tmp_path)


def executor(registry: Registry, *accepted: str) -> Executor:
    return Executor(registry, engine=Weak(nothing), configuration=Configuration(accept_unenforced=accepted))


def test_unenforced_limits_are_refused_unless_accepted(registry: Registry) -> None:
    for accepted in ([], ["memory"]):
        with executor(registry, *accepted) as refusing, pytest.raises(NoEngineError) as caught:
            refusing.run("nothing", {})
        assert str(caught.value).startswith("it cannot enforce limits.cpus here. No. Do something. To run")


def test_unenforced_limits_are_in_the_details_and_logged(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    with executor(registry, "cpus") as accepting, caplog.at_level(logging.WARNING, "toolc"):
        found = [accepting.run("nothing", {}).details["unenforced"] for _ in range(2)]
    assert found == [["cpus"], ["cpus"]]
    expected = (
        "tool 'nothing' runs without limits.cpus: the engine 'fake' cannot enforce that here, and your "
        "configuration accepts it; limited instead: cpus: nothing"
    )
    assert caplog.messages == [expected, expected]


def test_enforced_limits_are_not_mentioned(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    configuration = Configuration(accept_unenforced=("cpus", "memory"))
    with Executor(registry, engine=FakeEngine(nothing), configuration=configuration) as strong:
        assert "unenforced" not in strong.run("nothing", {}).details
    assert caplog.messages == []
