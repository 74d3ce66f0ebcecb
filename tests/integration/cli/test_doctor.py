"""``toolc doctor``: text, JSON and exit codes."""

import json
from dataclasses import replace

import pytest
from cli.cli_engines import engines
from cli.command_line import run

from toolc.cli.commands import doctor
from toolc.doctor.advisories import Advisory, AdvisoryMatch, Component
from toolc.doctor.diagnosis import Diagnosis, Probed, Trial, to_json
from toolc.doctor.diagnosis_text import to_text
from toolc.doctor.host_report import EngineReport, HostReport, Recommendation
from toolc.doctor.probes import EscapeProbe, ProbeResult
from toolc.model.json_schema import JsonObject
from toolc.runtime.pool.control import PoolReport
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.interface import Capabilities, Enforcement
from toolc.sandbox.interface import EngineStatus as Availability

RUNC = Component(name="runc", version="1.1.5+ds1-1+deb12u1", package="runc")
RACE = Advisory(
    id="CVE-2025-31133",
    component="runc",
    since="0",
    fixed=("1.2.8", "1.3.3"),
    allows="escape by a swapped /dev/null",
    exposed="partly",
    because="it takes a hostile image",
    remedy="Update runc to 1.2.8, 1.3.3 or later.",
)
TERMINAL = Advisory(
    id="CVE-2025-52565",
    component="runc",
    since="1.0.0-rc3",
    fixed=("1.2.8", "1.3.3"),
    allows="escape by a swapped terminal",
    exposed="no",
    because="no sandbox is given a terminal",
    remedy="Update runc to 1.2.8, 1.3.3 or later.",
)
CONCERNS = (
    AdvisoryMatch(advisory=TERMINAL, component=RUNC, status="open"),
    AdvisoryMatch(advisory=RACE, component=RUNC, status="maybe", note="may be patched by your distribution"),
)
WEAK = Enforcement(
    level="approximate", reason="No control group with memory is delegated.", instead="each process separately"
)
HOST = HostReport(
    system="Debian GNU/Linux 12 (bookworm)",
    kernel="Linux 6.1.0-18-amd64",
    cgroup="v2",
    restrictions=("Neither AppArmor nor SELinux is on.",),
)
ENGINES = (
    EngineReport(
        name="docker", status=Availability(available=True, version="28.3.0"),
        components=(Component(name="docker", version="28.3.0"), RUNC),
        capabilities=(Capabilities(), Capabilities(isolation="gvisor", notes=("Memory ends the whole sandbox.",))),
        advisories=CONCERNS,
    ),
    EngineReport(
        name="oci", status=Availability(available=True, version="1.1.5"), components=(RUNC,),
        capabilities=(Capabilities(weak={"memory": WEAK}, users=("owner",)),), advisories=CONCERNS,
        remedies=(Recommendation(lacks="limits.memory: No control group.", remedy="Run it as root."),),
    ),
    EngineReport(
        name="other", status=Availability(available=False, reason="It is not installed.", remedy="Install it."),
        remedies=(Recommendation(lacks="It is not installed.", remedy="Install it."),),
    ),
)  # fmt: skip
BASE: JsonObject = {"name": "toolc/base:0.1.0", "digest": "sha256:ab", "tree": "sha256:cd"}
CALL = Trial(milliseconds=210.4, python="3.11.2", user="65534:65534", image=BASE)
HOST_CALL = replace(CALL, image={"name": "host:/usr", "digest": None, "tree": None})
PROBES = (
    EscapeProbe(name="bpf", group="kernel", tries="load a BPF program", means="Most escapes began there."),
    EscapeProbe(name="tunnel", group="devices", tries="open /dev/net/tun", means="It reaches the hardware."),
    EscapeProbe(name="memory", group="limits", tries="use more memory", means="It brings other work down."),
)
HELD = ProbeResult("held")
DIAGNOSIS = Diagnosis(
    host=HOST,
    engines=ENGINES,
    trials={
        ("docker", "namespace"): CALL,
        ("docker", "gvisor"): Trial(reason="the runtime does not start; add --network=none"),
        ("oci", "namespace"): HOST_CALL,
    },
)

TEXT = """\
Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64, cgroup v2
  Neither AppArmor nor SELinux is on.

docker 28.3.0
    components docker 28.3.0, runc 1.1.5+ds1-1+deb12u1
  isolation: namespace
    test call  took 210 ms, as user 65534:65534, with Python 3.11.2
    base image toolc/base:0.1.0, tree sha256:cd
    limits     all enforced
    workspaces none, ro, rw, transaction
    users      owner, nobody, root
  isolation: gvisor
    test call  failed: the runtime does not start; add --network=none
    limits     all enforced
    workspaces none, ro, rw, transaction
    users      owner, nobody, root
    note       Memory ends the whole sandbox.

oci 1.1.5
    components runc 1.1.5+ds1-1+deb12u1
  isolation: namespace
    test call  took 210 ms, as user 65534:65534, with Python 3.11.2
    base image none, so tools see this machine's own programs, because your configuration says host_programs: true
    limits     enforced: timeout, cpus, pids, output, tmp, files, file_size
               memory: not enforced; limited instead: each process separately
               No control group with memory is delegated.
    workspaces none, ro, rw, transaction
    users      owner

other does not work
  It is not installed.

known vulnerabilities of these versions: 2, of which tools might exploit 1
  CVE-2025-31133  runc 1.1.5+ds1-1+deb12u1 (docker, oci); fixed in 1.2.8, 1.3.3
    allows     escape by a swapped /dev/null
    exposed    partly: it takes a hostile image
    status     may be patched by your distribution
    to do      Update runc to 1.2.8, 1.3.3 or later.
  CVE-2025-52565  runc 1.1.5+ds1-1+deb12u1, since 1.0.0-rc3, fixed in 1.2.8, 1.3.3; tools cannot exploit it: no
                  sandbox is given a terminal

strongest here: min_isolation: namespace, by docker, with every limit enforced

to improve
  oci: limits.memory: No control group.
    Run it as root.
  other: It is not installed.
    Install it.
"""


def test_text_output_is_complete() -> None:
    assert to_text(DIAGNOSIS) == TEXT


def probed(*answers: ProbeResult) -> Probed:
    return Probed(results=dict(zip(("bpf", "tunnel", "memory"), answers, strict=True)))


PROBED = Diagnosis(
    host=HOST,
    engines=ENGINES[:2],
    trials=DIAGNOSIS.trials,
    probes=PROBES,
    probed={
        ("docker", "namespace"): probed(HELD, HELD, HELD),
        ("docker", "gvisor"): probed(HELD, ProbeResult("own", "its own"), ProbeResult("unenforced", "accepted")),
        ("oci", "namespace"): probed(ProbeResult("failed", "let through: EINVAL"), HELD, HELD),
        ("oci", "vm"): Probed(reason="no such runtime; install Kata"),
    },
)


def test_probe_results_are_printed_as_text() -> None:
    assert to_text(PROBED).partition("a tool tries")[2] == (
        " to       docker  docker gvisor  oci\n"
        "kernel\n"
        "  load a BPF program  ok      ok             FAILED\n"
        "devices\n"
        "  open /dev/net/tun   ok      own            ok\n"
        "limits\n"
        "  use more memory     ok      accepted       ok\n"
        "docker: 3 of 3 probes held\n"
        "docker gvisor: 1 of 3 probes held, 1 reached only the sandbox's own kernel, 1 for limits that you have "
        "accepted as not enforced\n"
        "oci: 2 of 3 probes held\n"
        "  FAILED: a tool could load a BPF program. Most escapes began there.\n"
        "    found: let through: EINVAL\n"
        "oci vm could not be probed: no such runtime; install Kata\n"
    )


def test_tool_output_is_escaped_on_a_terminal() -> None:
    failed = Diagnosis(
        host=HOST, engines=(), trials={}, probes=PROBES[:1],
        probed={("oci", "namespace"): Probed(results={"bpf": ProbeResult("failed", "\x1b[2J")})},
    )  # fmt: skip
    assert "found: \\x1b[2J\n" in to_text(failed)


def test_failed_engine_is_not_the_strongest() -> None:
    best = DIAGNOSIS.strongest
    assert best is not None
    assert (best[0].name, best[1].isolation) == ("docker", "namespace")


def test_a_missing_engine_is_reported() -> None:
    nothing = Diagnosis(host=HOST, engines=ENGINES[2:], trials={})
    assert not nothing.works
    assert to_text(nothing) == (
        "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64, cgroup v2\n"
        "  Neither AppArmor nor SELinux is on.\n"
        "\n"
        "other does not work\n"
        "  It is not installed.\n"
        "\n"
        "no engine here can run a tool\n"
        "\n"
        "to improve\n"
        "  other: It is not installed.\n"
        "    Install it.\n"
    )


def test_json_output_is_complete() -> None:
    value = json.loads(json.dumps(to_json(PROBED)))
    assert list(value) == ["works", "host", "engines", "strongest", "pools", "probes", "not_probed"]
    assert value["works"] is False
    assert value["strongest"] == {"engine": "docker", "min_isolation": "namespace"}
    docker, oci = value["engines"]
    assert docker["components"][1] == {"name": "runc", "version": "1.1.5+ds1-1+deb12u1"}
    assert docker["isolation"][1]["call"] == {
        "works": False,
        "reason": "the runtime does not start; add --network=none",
    }
    assert oci["isolation"][0]["call"] == {
        "works": True,
        "duration_ms": 210.4,
        "python": "3.11.2",
        "user": "65534:65534",
        "image": {"name": "host:/usr", "digest": None, "tree": None},
    }
    assert oci["isolation"][0]["limits"]["memory"] == "approximate"
    assert docker["advisories"][0] == {
        "id": "CVE-2025-52565",
        "component": "runc",
        "version": "1.1.5+ds1-1+deb12u1",
        "affected": "since 1.0.0-rc3, fixed in 1.2.8, 1.3.3",
        "status": "open",
        "note": "",
        "allows": "escape by a swapped terminal",
        "exposed": "no",
        "because": "no sandbox is given a terminal",
        "remedy": "Update runc to 1.2.8, 1.3.3 or later.",
    }
    assert value["probes"][0]["answers"][2] == {
        "engine": "oci",
        "isolation": "namespace",
        "verdict": "failed",
        "found": "let through: EINVAL",
    }
    assert value["not_probed"] == [{"engine": "oci", "isolation": "vm", "reason": "no such runtime; install Kata"}]


@pytest.mark.parametrize(
    ("diagnosis", "code"),
    [(DIAGNOSIS, 0), (PROBED, 3), (Diagnosis(host=HOST, engines=ENGINES[2:], trials={}), 3)],
    ids=["works", "a probe failed", "no engine"],
)
def test_exit_codes_depend_on_the_report(
    diagnosis: Diagnosis, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda *_, **__: diagnosis)
    assert run("doctor") == code
    assert capsys.readouterr().out == to_text(diagnosis)


def test_unknown_engine_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--engine", "chroot") == 2
    assert "'chroot' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize("engine", engines())
def test_a_real_engine_makes_a_call(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("doctor", "--engine", engine, "--json")
    value = json.loads(capsys.readouterr().out)
    assert (code, value["works"]) == (0, True)
    (found,) = value["engines"]
    assert found["name"] == engine
    assert found["isolation"][0]["call"]["works"]
    assert {part["name"] for part in found["components"]} >= {"kernel"}
    assert {advisory["status"] for advisory in found["advisories"]} <= {"open", "maybe", "patched"}


def test_warm_sandboxes_are_reported() -> None:
    owner = Owner(machine="", boot="b", pidns=1, pid=4711, start=1)
    pools = (
        PoolReport(owner=owner, waiting=2, memory_bytes=5 << 20),
        PoolReport(owner=replace(owner, pid=9), waiting=1, memory_bytes=1 << 20),
    )
    found = replace(DIAGNOSIS, pools=pools)
    assert "process 4711: 2 warm sandboxes, about 5MiB\nprocess 9: 1 warm sandbox, about 1MiB\n" in to_text(found)
    assert to_json(found)["pools"] == [
        {"pid": 4711, "sandboxes": 2, "memory_bytes": 5 << 20},
        {"pid": 9, "sandboxes": 1, "memory_bytes": 1 << 20},
    ]
