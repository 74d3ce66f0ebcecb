"""Write the page of the benchmarks, ``docs/explanation/benchmarks.md``, and its chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from chart import bars
from figures import FOLDER, FULL, Figure, Latency, Part, Rate, Single, Skipped
from peers import ECHO
from project.paths import ROOT
from targets import Row, rows
from toolc_calls import stages_in_words

PARTS: Final = ("latency-1", "latency-8", "latency-32", "sustained", "memory", "concurrent", "sessions", "mcp", "serve")
"""The parts of a full run."""

PAGE: Final = ROOT / "docs" / "explanation" / "benchmarks.md"
CHART: Final = ROOT / "docs" / "assets" / "benchmarks.svg"

SHORT: Final = """\
**This is a short run**, on a machine that ran other programs too; a full run makes {full} calls of each subject.
Percentiles above the median are not reliable, and new processes had to wait for a processor.
"""

HEAD: Final = """\
# Benchmarks

`make bench` compares toolc with other ways to run a small program, and writes this page. In each part of a run, the
subjects take turns, so that a slow moment affects all of them. The page shows ratios within one part instead of times,
because only ratios can be compared with those of another machine. Every percentile is computed from at least {calls}
calls.

This run: {machine}.

![Ratios of the times of one call](../assets/benchmarks.svg)

The chart and the tables show the time of a call as a multiple of `subprocess.run(["/bin/echo", "hello"])` on the host,
with the same number of callers. In the tables, each percentile is divided by the same percentile of `subprocess.run`.
In the chart, all values are divided by the median of `subprocess.run`. Each bar ends at the median of the subject, and
its line ends at the 95th percentile.

Every subject prints one word. `bwrap`, `runc run`, `docker run` and `docker exec` use the image of toolc's sandboxes.
`runc run` and `docker run` also use toolc's limits and filter of system calls. *Cold* means that the call starts its
own sandbox. *Warm* means that a sandbox waits for the call and serves only this call. A call of toolc returns when all
processes of the tool have ended. The empty sandbox is removed before the next subject is measured. `runc run` and
`docker run` return after the removal. The part about sustained calls includes all removals. `docker exec` and
llm-sandbox use the same container for the next call, with everything that the previous call left in it.
"""


def write(parts: Mapping[str, Part]) -> Path:
    """Write the page from the stored parts; below ``build`` if some are missing or have fewer calls than a full run."""
    is_full = set(PARTS) <= set(parts) and all(parts[name].calls >= FULL for name in PARTS)
    page, chart = (PAGE, CHART) if is_full else (FOLDER / PAGE.name, FOLDER / CHART.name)
    first = next(iter(parts.values()))
    calls = min(each.calls for each in parts.values())
    sections = [HEAD.format(calls=calls, machine=first.machine), _targets(rows(parts)), *_latencies(parts)]
    sections += [_sustained(parts), _others(parts), _skipped(parts)]
    if not is_full:
        sections.insert(1, SHORT.format(full=FULL))
    page.write_text("\n".join(each for each in sections if each), encoding="utf-8")
    if "latency-1" in parts:
        chart.write_text(_chart(parts["latency-1"]), encoding="utf-8")
    return page


def table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown. All columns but the first are aligned to the right."""
    names = [*head]
    rule = ["---", *["--:"] * (len(names) - 1)]
    return "".join(f"| {' | '.join(each)} |\n" for each in (names, rule, *lines))


def _targets(found: list[Row]) -> str:
    lines = [(each.what, each.bound_text, each.value_text, "met" if each.is_met else "missed") for each in found]
    text = "## Targets\n\n" + table(("what", "target", "measured", ""), lines)
    missed = [each for each in found if not each.is_met]
    if missed:
        spent = dict.fromkeys(f"- {each.subject}: {each.spent}\n" for each in missed if each.spent)
        tried = dict.fromkeys(f"- {each.tried}\n" for each in missed)
        text += f"\nWhere the time goes in calls that miss a target (shares of the stages):\n\n{''.join(spent)}"
        text += f"\nWhat was done to make them faster and smaller:\n\n{''.join(tried)}"
    return text


def _latencies(parts: Mapping[str, Part]) -> Iterable[str]:
    for callers in (1, 8, 32):
        if part := parts.get(f"latency-{callers}"):
            yield _latency(part, callers)


def _latency(part: Part, callers: int) -> str:
    found = [each for each in part.figures if isinstance(each, Latency)]
    base = next(each for each in found if each.subject == ECHO)
    title = "One caller" if callers == 1 else f"{callers} concurrent callers"
    lines = [
        (each.subject, f"{each.p50 / base.p50:.2f}", f"{each.p95 / base.p95:.2f}", f"{each.p99 / base.p99:.2f}")
        for each in found
    ]
    text = f"## {title}\n\n" + table(("x subprocess.run", "p50", "p95", "p99"), lines)
    p95, p99 = base.p95 / base.p50, base.p99 / base.p50
    text += f"\nThe p95 of `{ECHO}` is {p95:.1f} x its p50, and its p99 is {p99:.1f} x its p50.\n"
    stages = [each for each in found if each.stages]
    if callers == 1 and stages:
        text += "\nWhere the time of a call goes (shares of the medians of its stages, `details.timing_ms`):\n\n"
        text += "".join(f"- {each.subject}: {stages_in_words(each.stages)}\n" for each in stages)
    return text


def _sustained(parts: Mapping[str, Part]) -> str:
    figures = _figures(parts, "sustained")
    found = [each for each in figures if isinstance(each, Rate)]
    if not found:
        return ""
    lines = [(each.subject, f"{each.ratio:.2f} x {each.base}") for each in found]
    return "## Sustained calls\n\nEight callers, each of which calls again as soon as it has a result.\n\n" + table(
        ("", "calls per second"), lines
    )


def _others(parts: Mapping[str, Part]) -> str:
    found = [each for part in parts.values() for each in part.figures if isinstance(each, Single) and each.details]
    return "## Memory, sessions and many concurrent calls\n\n" + "".join(f"- {each.details}\n" for each in found)


def _skipped(parts: Mapping[str, Part]) -> str:
    found = {each.subject: each.reason for part in parts.values() for each in part.figures if isinstance(each, Skipped)}
    lines = "".join(f"- {name}: {reason}\n" for name, reason in found.items())
    return f"## Not measured here\n\n{lines}" if lines else ""


def _figures(parts: Mapping[str, Part], name: str) -> tuple[Figure, ...]:
    return parts[name].figures if name in parts else ()


def _chart(part: Part) -> str:
    found = [each for each in part.figures if isinstance(each, Latency)]
    base = next(each for each in found if each.subject == ECHO)
    values = [
        (each.subject, each.p50 / base.p50, max(each.p95, each.p50) / base.p50, each.subject.startswith("toolc"))
        for each in sorted(found, key=lambda each: each.p50)
    ]
    return bars("One call, as a multiple of subprocess.run(echo)", values)
