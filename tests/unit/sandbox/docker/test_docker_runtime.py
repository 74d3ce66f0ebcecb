"""The runtimes that daemons of several releases list, and the choice for a tool."""

import pytest

from toolc.model.json_schema import JsonObject
from toolc.model.spec.sandbox import MinIsolation
from toolc.sandbox.docker.daemon import Runtime, choose_runtime, runtimes

DEBIAN_12: JsonObject = {
    "DefaultRuntime": "runc",
    "Runtimes": {
        "io.containerd.runc.v2": {"path": "runc"},
        "runc": {"path": "runc"},
        "runsc": {"path": "/usr/bin/runsc", "runtimeArgs": ["--network=none"]},
    },
}
DOCKER_28: JsonObject = {
    "DefaultRuntime": "runc",
    "Runtimes": {
        "kata": {"runtimeType": "io.containerd.kata.v2", "status": {"org.opencontainers.runtime-spec.features": "{}"}},
        "runc": {"path": "runc", "status": {"org.opencontainers.runtime-spec.features": "{}"}},
        "strong": {"runtimeType": "io.containerd.runsc.v1"},
    },
}


def test_runtimes_of_debian_12_are_recognized() -> None:
    assert runtimes(DEBIAN_12) == (
        Runtime("runc", "namespace", "path=runc"),
        Runtime("io.containerd.runc.v2", "namespace", "path=runc"),
        Runtime("runsc", "gvisor", "path=/usr/bin/runsc runtimeArgs=['--network=none']"),
    )


def test_docker_28_names_shims() -> None:
    assert runtimes(DOCKER_28) == (
        Runtime("runc", "namespace", "path=runc"),
        Runtime("kata", "vm", "runtimeType=io.containerd.kata.v2"),
        Runtime("strong", "gvisor", "runtimeType=io.containerd.runsc.v1"),
    )


@pytest.mark.parametrize("info", [{}, {"Runtimes": None}, {"Runtimes": [], "DefaultRuntime": ""}])
def test_the_default_runtime_is_runc(info: JsonObject) -> None:
    assert runtimes(info) == (Runtime("runc"),)


def test_only_the_name_of_the_program_counts() -> None:
    (_, found) = runtimes({"DefaultRuntime": "runc", "Runtimes": {"mine": {"path": "/opt/runsc/bin/crun"}}})
    assert found.isolation == "namespace"


RUNC, RUNSC, KATA = Runtime("runc"), Runtime("runsc", "gvisor"), Runtime("kata", "vm")


@pytest.mark.parametrize(
    ("registered", "minimum", "chosen"),
    [
        ((RUNC, KATA, RUNSC), "namespace", RUNC), ((RUNC, KATA, RUNSC), "gvisor", RUNSC),
        ((RUNC, KATA, RUNSC), "vm", KATA), ((RUNC, KATA), "gvisor", KATA), ((RUNSC, RUNC), "namespace", RUNSC),
        ((RUNC,), "gvisor", None), ((RUNC, RUNSC), "vm", None),
    ],
)  # fmt: skip
def test_the_default_runtime_or_the_weakest_sufficient_one(
    registered: tuple[Runtime, ...], minimum: MinIsolation, chosen: Runtime | None
) -> None:
    assert choose_runtime(registered, minimum) == chosen
