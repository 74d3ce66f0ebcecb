"""Describe this host and its engines: components, enforced limits, known vulnerabilities and remedies."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from toolc.dataclass import dataclass
from toolc.doctor.advisories import AdvisoryMatch, Component, load, match_advisories
from toolc.doctor.components import COMPONENTS
from toolc.model.names import ENGINES
from toolc.model.plan import Profile
from toolc.sandbox.host import cgroups
from toolc.sandbox.interface import ISOLATION, Capabilities, Engine, EngineStatus, unenforced
from toolc.sandbox.oci import probe as oci_probe
from toolc.sandbox.selection import load as load_engine

Read: TypeAlias = Callable[[str], str]
"""Returns the stripped text of a small file of the kernel, or an empty string if it does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The machine. Each of ``restrictions`` is a sentence about something that its kernel forbids or lacks."""

    system: str
    kernel: str
    cgroup: str
    restrictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A possible improvement, and how to achieve it. Both are sentences for the user."""

    lacks: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """One engine: its components, its capabilities with each kind of isolation, and possible improvements."""

    name: str
    status: EngineStatus
    components: tuple[Component, ...] = ()
    capabilities: tuple[Capabilities, ...] = ()
    advisories: tuple[AdvisoryMatch, ...] = ()
    remedies: tuple[Recommendation, ...] = ()


def report_host() -> HostReport:
    """Return the properties of this machine that matter for sandboxes. Does not raise."""
    return HostReport(
        system=_system(),
        kernel=f"{platform.system()} {platform.release()}",
        cgroup=_cgroup(),
        restrictions=tuple(restrictions(_read)),
    )


def report_engines(names: Sequence[str] = ENGINES) -> tuple[EngineReport, ...]:
    """Return a report about each of these engines. Does not raise, and starts no sandbox."""
    table = load()
    reports = []
    for name in names:
        engine = load_engine(name)
        status = engine.probe()
        components = COMPONENTS[name]() if status.available and name in COMPONENTS else ()
        reports.append(describe(engine, status, components, tuple(match_advisories(components, table))))
    return tuple(reports)


def describe(
    engine: Engine, status: EngineStatus, components: tuple[Component, ...], advisories: tuple[AdvisoryMatch, ...]
) -> EngineReport:
    """Return the report about one engine, from its status and capabilities."""
    if not status.available:
        remedy = Recommendation(lacks=status.reason, remedy=status.remedy)
        return EngineReport(name=engine.name, status=status, remedies=(remedy,))
    capabilities = engine.capabilities()
    return EngineReport(
        name=engine.name,
        status=status,
        components=components,
        capabilities=capabilities,
        advisories=advisories,
        remedies=(*_limits(capabilities), *_isolation(engine, capabilities), *_updates(advisories)),
    )


def strongest(offers: Sequence[tuple[EngineReport, Capabilities]]) -> tuple[EngineReport, Capabilities] | None:
    """Return the strongest engine and isolation, or None if ``offers`` is empty.

    The kind of isolation counts first, then the number of enforced limits, and then the order of the engines.
    """
    return max(offers, key=lambda each: (ISOLATION.index(each[1].isolation), -len(unenforced(each[1]))), default=None)


def _limits(capabilities: Sequence[Capabilities]) -> list[Recommendation]:
    weak = [(name, offered.limit(name)) for offered in capabilities for name in unenforced(offered)]
    reasons = dict.fromkeys((found.reason, found.remedy) for _, found in weak)
    return [
        Recommendation(lacks=f"limits.{', limits.'.join(dict.fromkeys(names))}: {reason}", remedy=remedy)
        for reason, remedy in reasons
        if (names := [name for name, found in weak if (found.reason, found.remedy) == (reason, remedy)])
    ]


def _isolation(engine: Engine, capabilities: Sequence[Capabilities]) -> list[Recommendation]:
    """Return the next stronger kind of isolation, and why it is not available."""
    best = max((ISOLATION.index(offered.isolation) for offered in capabilities), default=0)
    for isolation in ISOLATION[best + 1 :]:
        if reason := engine.unsupported_reason(Profile(min_isolation=isolation)):
            return [Recommendation(lacks=f"min_isolation: {isolation} is not available.", remedy=_sentence(reason))]
        break
    return []


def _updates(advisories: Sequence[AdvisoryMatch]) -> list[Recommendation]:
    return [
        Recommendation(lacks=f"{each.advisory.id} ({each.component.name}) is open.", remedy=each.advisory.remedy)
        for each in advisories
        if each.status == "open" and each.advisory.exposed != "no"
    ]


def _sentence(reason: str) -> str:
    """Return the remedy at the end of a reason, as a sentence."""
    text = reason.partition("; ")[2] or reason
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.platform(terse=True)


def _cgroup() -> str:
    try:
        return describe_cgroup(Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return "none"


def describe_cgroup(mountinfo: str) -> str:
    """Return the cgroup versions in proc_pid_mountinfo(5): ``v1``, ``v2``, ``v1 and v2 (hybrid)``, ``none``."""
    versions = {tree.version for tree in cgroups.trees(mountinfo)}
    if versions == {1, 2}:
        return "v1 and v2 (hybrid)"
    return f"v{versions.pop()}" if versions else "none"


def restrictions(read: Read) -> list[str]:
    """Return a sentence for each restriction by the kernel's settings and modules."""
    found = [
        f"Ordinary users cannot create user namespaces ({name} is {value}). To allow it: {remedy}"
        for name, value, remedy in oci_probe.NEEDED_SETTINGS
        if read(f"/proc/sys/{name.replace('.', '/')}") == str(value)
    ]
    if read("/sys/module/apparmor/parameters/enabled") != "Y" and not read("/sys/fs/selinux/enforce"):
        found.append("Neither AppArmor nor SELinux is on, so only namespaces and the system call filter isolate tools.")
    if read("/sys/fs/selinux/enforce") == "0":
        found.append("SELinux only logs (permissive). To enforce its policy, run: setenforce 1")
    if "Seccomp:" not in read("/proc/self/status"):
        found.append("This kernel has no system call filter (CONFIG_SECCOMP_FILTER), which sandboxes need.")
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
