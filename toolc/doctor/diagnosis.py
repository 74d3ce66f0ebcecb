"""The findings of ``toolc doctor``, and their form as JSON."""

from typing import TypeAlias

from toolc.dataclass import dataclass, field
from toolc.doctor.advisories import AdvisoryMatch
from toolc.doctor.host_report import EngineReport, HostReport, strongest
from toolc.doctor.probes import EscapeProbe, ProbeResult
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import LIMITS
from toolc.model.spec.sandbox import MinIsolation
from toolc.runtime.pool.control import PoolReport
from toolc.sandbox.interface import Capabilities

EngineKind: TypeAlias = tuple[str, MinIsolation]
"""The name of an engine, and one of its kinds of isolation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One real call. ``reason`` says why it failed. If it is empty, the other fields are the results.

    ``image`` is the image in which a tool without an image runs, as in ``details``.
    """

    reason: str = ""
    milliseconds: float = 0.0
    python: str = ""
    user: str = ""
    image: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The results of the probes, by name. ``reason`` says why they could not be run. Otherwise it is empty."""

    reason: str = ""
    results: dict[str, ProbeResult] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether a probe failed, or none could be run."""
        return bool(self.reason) or any(each.verdict == "failed" for each in self.results.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All findings. ``trials`` and ``probed`` are ordered by engine and kind of isolation.

    ``pools`` describes the warm sandboxes of this user's processes.
    """

    host: HostReport
    engines: tuple[EngineReport, ...]
    trials: dict[EngineKind, Trial]
    pools: tuple[PoolReport, ...] = ()
    probes: tuple[EscapeProbe, ...] = ()
    probed: dict[EngineKind, Probed] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether an engine completed its call and no probe failed."""
        called = any(not trial.reason for trial in self.trials.values())
        return called and not any(probed.failed for probed in self.probed.values())

    @property
    def strongest(self) -> tuple[EngineReport, Capabilities] | None:
        """The strongest engine and kind of isolation among those whose call succeeded."""
        tried = [
            (report, offered)
            for report in self.engines
            for offered in report.capabilities
            if not self.trials[report.name, offered.isolation].reason
        ]
        return strongest(tried)


def to_json(diagnosis: Diagnosis) -> JsonObject:
    """Return the diagnosis as a JSON object."""
    best = diagnosis.strongest
    value: JsonObject = {
        "works": diagnosis.works,
        "host": {
            "system": diagnosis.host.system,
            "kernel": diagnosis.host.kernel,
            "cgroup": diagnosis.host.cgroup,
            "restrictions": [*diagnosis.host.restrictions],
        },
        "engines": [_engine(report, diagnosis) for report in diagnosis.engines],
        "strongest": {"engine": best[0].name, "min_isolation": best[1].isolation} if best else None,
        "pools": [
            {"pid": each.owner.pid, "sandboxes": each.waiting, "memory_bytes": each.memory_bytes}
            for each in diagnosis.pools
        ],
    }
    if diagnosis.probes:
        value["probes"] = [_probe(probe, diagnosis) for probe in diagnosis.probes]
        value["not_probed"] = [
            {"engine": name, "isolation": isolation, "reason": probed.reason}
            for (name, isolation), probed in diagnosis.probed.items()
            if probed.reason
        ]
    return value


def _engine(report: EngineReport, diagnosis: Diagnosis) -> JsonObject:
    return {
        "name": report.name,
        "available": report.status.available,
        "version": report.status.version,
        "reason": report.status.reason,
        "components": [{"name": each.name, "version": each.version} for each in report.components],
        "isolation": [
            _offered(offered, diagnosis.trials[report.name, offered.isolation]) for offered in report.capabilities
        ],
        "advisories": [_advisory(each) for each in report.advisories],
        "remedies": [{"lacks": each.lacks, "remedy": each.remedy} for each in report.remedies],
    }


def _offered(offered: Capabilities, trial: Trial) -> JsonObject:
    call: JsonObject = {"works": not trial.reason}
    if trial.reason:
        call["reason"] = trial.reason
    else:
        call |= {
            "duration_ms": round(trial.milliseconds, 1),
            "python": trial.python,
            "user": trial.user,
            "image": trial.image,
        }
    return {
        "kind": offered.isolation,
        "call": call,
        "limits": {name: offered.limit(name).level for name in LIMITS},
        "workspaces": [*offered.workspaces],
        "users": [*offered.users],
        "images": offered.images,
        "notes": [*offered.notes],
    }


def _advisory(match: AdvisoryMatch) -> JsonObject:
    advisory = match.advisory
    return {
        "id": advisory.id,
        "component": advisory.component,
        "version": match.component.version,
        "affected": advisory.affected,
        "status": match.status,
        "note": match.note,
        "allows": advisory.allows,
        "exposed": advisory.exposed,
        "because": advisory.because,
        "remedy": advisory.remedy,
    }


def _probe(probe: EscapeProbe, diagnosis: Diagnosis) -> JsonObject:
    return {
        "name": probe.name,
        "group": probe.group,
        "tries": probe.tries,
        "means": probe.means,
        "answers": [
            {
                "engine": name,
                "isolation": isolation,
                "verdict": probed.results[probe.name].verdict,
                "found": probed.results[probe.name].found,
            }
            for (name, isolation), probed in diagnosis.probed.items()
            if not probed.reason
        ],
    }
