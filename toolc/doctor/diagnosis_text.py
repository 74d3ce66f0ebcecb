"""Format the findings of ``toolc doctor`` as text."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.doctor.advisories import AdvisoryMatch
from toolc.doctor.diagnosis import Diagnosis, Probed, Trial
from toolc.doctor.host_report import EngineReport
from toolc.doctor.probes import EscapeProbe, Verdict
from toolc.model.json_schema import JsonValue
from toolc.model.plan import LIMITS
from toolc.model.spec.sandbox import MIB
from toolc.model.text import count_noun, render_size
from toolc.reporters.text import escape_for_terminal
from toolc.runtime.pool.control import PoolReport
from toolc.sandbox.interface import Capabilities, unenforced

WIDTH: Final = 116
"""The line width of text. A longer command stays on one line, so that it can be copied."""

_WORDS: Final = {"held": "ok", "failed": "FAILED", "own": "own", "unenforced": "accepted"}
"""The verdicts as shown in the table."""

_OTHERS: Final[dict[Verdict, str]] = {
    "own": "reached only the sandbox's own kernel",
    "unenforced": "for limits that you have accepted as not enforced",
}
"""The verdicts that neither held nor failed, as shown in the summary."""


def to_text(diagnosis: Diagnosis) -> str:
    """Return the diagnosis as text."""
    blocks = [
        _host(diagnosis),
        *(_engine(report, diagnosis) for report in diagnosis.engines),
        _advisories(diagnosis.engines),
        _strongest(diagnosis),
        _pools(diagnosis.pools),
        _improve(diagnosis.engines),
        _probes(diagnosis),
    ]
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block) + "\n"


def _host(diagnosis: Diagnosis) -> Iterator[str]:
    host = diagnosis.host
    yield f"{host.system}, {host.kernel}, cgroup {host.cgroup}"
    for sentence in host.restrictions:
        yield from _wrapped("  ", sentence)


def _engine(report: EngineReport, diagnosis: Diagnosis) -> Iterator[str]:
    if not report.status.available:
        yield f"{report.name} does not work"
        yield from _wrapped("  ", report.status.reason)
        return
    yield f"{report.name} {report.status.version}"
    yield from _field("components", ", ".join(f"{each.name} {each.version}" for each in report.components))
    for offered in report.capabilities:
        yield from _offered(offered, diagnosis.trials[report.name, offered.isolation])


def _offered(offered: Capabilities, trial: Trial) -> Iterator[str]:
    yield f"  isolation: {offered.isolation}"
    if trial.reason:
        yield from _field("test call", f"failed: {trial.reason}")
    else:
        result = f"took {trial.milliseconds:.0f} ms, as user {trial.user}, with Python {trial.python}"
        yield from _field("test call", result)
        yield from _field("base image", _image(trial.image)) if trial.image else ()
    weak = unenforced(offered)
    enforced = ", ".join(name for name in LIMITS if name not in weak and offered.limit(name).level == "enforced")
    yield from _field("limits", "all enforced" if not weak else f"enforced: {enforced}")
    for name in weak:
        yield from _field("", f"{name}: not enforced; limited instead: {offered.limit(name).instead}")
    # Several limits often have the same cause.
    for reason in dict.fromkeys(offered.limit(name).reason for name in weak):
        yield from _field("", reason)
    yield from _field("workspaces", ", ".join(offered.workspaces))
    yield from _field("users", ", ".join(offered.users))
    for note in offered.notes:
        yield from _field("note", note)


def _image(image: JsonValue) -> str:
    """Describe the image in which tools without an image run, from the ``details`` of a call."""
    match image:
        case {"name": str(name), "tree": str(tree)}:
            return f"{name}, tree {tree}"
        case _:
            return "none, so tools see this machine's own programs, because your configuration says host_programs: true"


def _advisories(reports: Sequence[EngineReport]) -> Iterator[str]:
    """Yield each flaw once, with the engines that it affects. Flaws that a tool might exploit come first."""
    engines: dict[AdvisoryMatch, list[str]] = {}
    for report in reports:
        for match in report.advisories:
            engines.setdefault(match, []).append(report.name)
    if not engines:
        return
    serious = [each for each in engines if each.status != "patched" and each.advisory.exposed != "no"]
    yield f"known vulnerabilities of these versions: {len(engines)}, of which tools might exploit {len(serious)}"
    for match in serious:
        advisory = match.advisory
        yield f"  {advisory.id}  {_component(match)} ({', '.join(engines[match])}); {advisory.affected}"
        yield from _field("allows", advisory.allows)
        yield from _field("exposed", f"{advisory.exposed}: {advisory.because}")
        yield from _field("status", match.note or "open")
        yield from _field("to do", advisory.remedy)
    for match in engines:
        if match not in serious:
            advisory, patched = match.advisory, match.status == "patched"
            why = f"patched: {match.note}" if patched else f"tools cannot exploit it: {advisory.because}"
            yield from _wrapped(f"  {advisory.id}  ", f"{_component(match)}, {advisory.affected}; {why}")


def _component(match: AdvisoryMatch) -> str:
    return f"{match.component.name} {match.component.version}"


def _strongest(diagnosis: Diagnosis) -> Iterator[str]:
    best = diagnosis.strongest
    if best is None:
        yield "no engine here can run a tool"
        return
    weak = unenforced(best[1])
    limits = f"without {', '.join(weak)}" if weak else "with every limit enforced"
    yield f"strongest here: min_isolation: {best[1].isolation}, by {best[0].name}, {limits}"


def _pools(pools: Sequence[PoolReport]) -> Iterator[str]:
    for each in pools:
        waiting = count_noun(each.waiting, "warm sandbox", "warm sandboxes")
        yield f"process {each.owner.pid}: {waiting}, about {render_size(round(each.memory_bytes / MIB) * MIB)}"


def _improve(reports: Sequence[EngineReport]) -> Iterator[str]:
    lines = [
        line
        for report in reports
        for each in report.remedies
        for line in (*_wrapped("  ", f"{report.name}: {each.lacks}"), f"    {escape_for_terminal(each.remedy)}")
    ]
    if lines:
        yield "to improve"
        yield from lines


def _probes(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.probes:
        return
    columns = {
        f"{name} {isolation}" if isolation != "namespace" else name: probed
        for (name, isolation), probed in diagnosis.probed.items()
    }
    run = {name: probed for name, probed in columns.items() if not probed.reason}
    width = max(len(probe.tries) for probe in diagnosis.probes) + 2
    yield "  ".join([f"{'a tool tries to':<{width}}", *run]).rstrip()
    group = ""
    for probe in diagnosis.probes:
        if probe.group != group:
            group = probe.group
            yield group
        cells = [f"{_WORDS[probed.results[probe.name].verdict]:<{len(name)}}" for name, probed in run.items()]
        yield "  ".join([f"  {probe.tries:<{width - 2}}", *cells]).rstrip()
    for name, probed in columns.items():
        yield from _summary(name, probed, diagnosis.probes)


def _summary(name: str, probed: Probed, probes: Sequence[EscapeProbe]) -> Iterator[str]:
    if probed.reason:
        yield from _wrapped("", f"{name} could not be probed: {probed.reason}")
        return
    verdicts = [result.verdict for result in probed.results.values()]
    others = "".join(f", {count} {words}" for key, words in _OTHERS.items() if (count := verdicts.count(key)))
    yield f"{name}: {verdicts.count('held')} of {len(verdicts)} probes held{others}"
    for probe in probes:
        result = probed.results[probe.name]
        if result.verdict == "failed":
            yield from _wrapped("  ", f"FAILED: a tool could {probe.tries}. {probe.means}")
            yield from _wrapped("    ", f"found: {result.found}")


def _field(name: str, text: str) -> Iterator[str]:
    yield from _wrapped(f"    {name:<11}", text)


def _wrapped(start: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        escape_for_terminal(text),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
