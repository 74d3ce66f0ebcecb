"""Selecting the engine of a call."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from engines.forked_child import in_child

from toolc.model import names
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.model.plan import LimitName, Profile
from toolc.model.result import Outcome
from toolc.model.spec.sandbox import MIB, Limits, MinIsolation
from toolc.sandbox import selection
from toolc.sandbox.interface import (
    Capabilities,
    Enforcement,
    Engine,
    EngineStatus,
    offer,
    unenforced,
    unenforced_reason,
)
from toolc.testing.fake_engine import FakeEngine


class Stub(FakeEngine):
    """An engine with fixed answers."""

    def __init__(self, name: str, status: EngineStatus) -> None:
        super().__init__(lambda _: Outcome(ending="exited"))
        self._name, self.status, self.probes, self.closings = name, status, 0, 0
        self.reason: str | None = None
        self.weak: Mapping[LimitName, Enforcement] = {}

    @property
    def name(self) -> str:
        return self._name

    def probe(self) -> EngineStatus:
        self.probes += 1
        return self.status

    def capabilities(self) -> tuple[Capabilities, ...]:
        return (Capabilities(weak=self.weak),)

    def unsupported_reason(self, profile: Profile) -> str | None:
        return self.reason

    def close(self) -> None:
        self.closings += 1


WORKS = EngineStatus(available=True, version="1")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> dict[str, Stub]:
    stubs = {name: Stub(name, WORKS) for name in names.ENGINES}
    loaded: dict[str, Engine] = dict(stubs.items())
    monkeypatch.setattr(selection, "_LOADED", selection._Loaded(engines=loaded))
    return stubs


def absent(reason: str, remedy: str) -> EngineStatus:
    return EngineStatus(available=False, reason=reason, remedy=remedy)


def test_engine_names_are_fixed() -> None:
    assert names.engine_names() == ("auto", "docker", "oci")


def test_load_returns_one_engine_per_name() -> None:
    for name in names.ENGINES:
        assert selection.load(name).name == name
        assert selection.load(name) is selection.load(name)


def test_auto_selects_the_first_engine(engines: dict[str, Stub]) -> None:
    assert selection.select("auto", Profile()) == selection.EngineSelection(engines["docker"])


def test_auto_skips_an_unavailable_or_unsuitable_engine(engines: dict[str, Stub]) -> None:
    engines["docker"].status = absent("no daemon was found", "Install one.")
    expected = selection.EngineSelection(engines["oci"], ("docker: no daemon was found",))
    assert selection.select("auto", Profile()) == expected
    engines["docker"].status, engines["docker"].reason = WORKS, "the base image is not built"
    expected = selection.EngineSelection(engines["oci"], ("docker: the base image is not built",))
    assert selection.select("auto", Profile()) == expected


def test_a_named_engine_is_never_replaced(engines: dict[str, Stub]) -> None:
    engines["docker"].reason = "it cannot limit memory; enable it"
    with pytest.raises(NoEngineError) as caught:
        selection.select("docker", Profile())
    assert str(caught.value) == "the docker engine cannot run this call: it cannot limit memory; enable it"
    assert selection.select("oci", Profile()) == selection.EngineSelection(engines["oci"])


def test_the_message_if_no_engine_is_suitable(engines: dict[str, Stub]) -> None:
    engines["docker"].status = absent("no daemon was found", "Install one.")
    engines["oci"].reason = "it cannot use images"
    with pytest.raises(NoEngineError) as caught:
        selection.select("auto", Profile())
    assert str(caught.value) == (
        "no engine on this host can run this call. docker: no daemon was found. Install one. oci: it cannot use images."
    )
    assert caught.value.exit_code == 3


def test_a_host_without_an_engine_that_works(engines: dict[str, Stub]) -> None:
    engines["docker"].status = absent("no daemon was found", "Install one.")
    engines["oci"].status = absent("runc is not installed.", "Install it.")
    with pytest.raises(NoEngineError) as caught:
        selection.check_works("auto")
    assert str(caught.value) == (
        "no engine works on this host, so no call could run. docker: no daemon was found. Install one. "
        "oci: runc is not installed. Install it."
    )
    engines["oci"].status = WORKS
    selection.check_works("auto")
    with pytest.raises(NoEngineError, match=r"docker: no daemon was found\. Install one\.$"):
        selection.check_works("docker")


def test_a_forked_child_loads_new_engines() -> None:
    ours = selection.load("oci")
    assert in_child(lambda: selection.load("oci") is not ours)
    assert selection.load("oci") is ours


def test_all_engines_are_closed_although_one_raises_an_error(
    engines: dict[str, Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise InfrastructureError("its sandbox cannot be stopped")

    first, second = engines.values()
    for broken, other in ((first, second), (second, first)):
        with monkeypatch.context() as patch:
            patch.setattr(broken, "close", fail)
            with pytest.raises(InfrastructureError, match="cannot be stopped"):
                selection.close_unused()
        assert other.closings == 1


def test_an_unknown_engine_is_a_usage_error(engines: dict[str, Stub]) -> None:
    with pytest.raises(UsageError) as caught:
        selection.select("podman", Profile())
    assert str(caught.value) == "there is no engine 'podman'; choose one of: auto, docker, oci"


def test_only_success_is_cached(engines: dict[str, Stub]) -> None:
    engines["docker"].status = absent("not yet", "Wait.")
    for _ in range(2):
        assert selection.select("auto", Profile()).engine is engines["oci"]
    engines["docker"].status = WORKS
    for _ in range(3):
        assert selection.select("auto", Profile()).engine is engines["docker"]
    assert (engines["docker"].probes, engines["oci"].probes) == (3, 1)


WEAK: dict[LimitName, Enforcement] = {
    "memory": Enforcement(level="approximate", reason="No groups.", instead="each process", remedy="Be root."),
    "cpus": Enforcement(level="not", reason="No groups.", instead="nothing", remedy="Be root."),
}


def test_unenforced_limits_are_part_of_the_selection(engines: dict[str, Stub]) -> None:
    engines["docker"].weak = {"cpus": WEAK["cpus"], "memory": WEAK["memory"]}
    found = selection.select("auto", Profile(accept_unenforced=("cpus", "memory")))
    assert found == selection.EngineSelection(
        engines["docker"], unenforced=("memory", "cpus"), instead="memory: each process; cpus: nothing"
    )


@pytest.mark.parametrize(
    ("accepted", "missing"),
    [((), "limits.memory and limits.cpus"), (("memory",), "limits.cpus"), (("cpus", "timeout"), "limits.memory")],
)
def test_limits_that_are_not_accepted(accepted: tuple[str, ...], missing: str) -> None:
    reason = unenforced_reason(
        Capabilities(weak={"cpus": WEAK["cpus"], "memory": WEAK["memory"]}), Profile(accept_unenforced=accepted)
    )
    assert str(reason).startswith(f"it cannot enforce {missing} here. No groups. Be root. To run without full ")


def test_accepted_limits() -> None:
    weak = Capabilities(weak={"cpus": WEAK["cpus"]})
    assert unenforced_reason(weak, Profile(accept_unenforced=("cpus",))) is None
    assert unenforced_reason(Capabilities(), Profile()) is None


@pytest.mark.parametrize(("required", "selected"), [("namespace", "namespace"), ("gvisor", "vm"), ("vm", "vm")])
def test_the_weakest_sufficient_isolation_is_selected(required: MinIsolation, selected: MinIsolation) -> None:
    offered = (Capabilities(isolation="namespace"), Capabilities(isolation="vm"))
    assert offer(offered, required).isolation == selected


def test_a_limit_of_the_workspace_is_enforced_nowhere_and_concerns_only_tools_that_set_it() -> None:
    limited = Profile(limits=Limits(workspace_bytes=MIB))
    assert str(unenforced_reason(Capabilities(), limited)).startswith(
        "it cannot enforce limits.workspace here. Neither the size of the file system nor a project quota limits "
    )
    assert unenforced_reason(Capabilities(), replace(limited, accept_unenforced=("workspace",))) is None
    assert unenforced(Capabilities()) == ()
    assert unenforced(Capabilities(), limited.limits) == ("workspace",)
