"""The targets of the ratios in the benchmarks, and what was done to meet them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from figures import Latency, Part, Rate, Single
from peers import ECHO, PYTHON
from toolc_calls import name_of, stages_in_words

MIB: Final = 1 << 20


def judged(ratio: float, target: float) -> str:
    """Return the maximum of a ratio, and whether it is met."""
    return f"   to be {target:g} x: {'holds' if ratio <= target else 'MISSED'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table of targets.

    ``bound`` is a maximum, or a minimum if ``is_minimum``. ``spent`` are the stages of a call of ``subject`` with their
    shares of its time.
    """

    subject: str
    what: str
    unit: str
    bound: float
    value: float
    is_minimum: bool = False
    spent: str = ""
    tried: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound."""
        return self.value >= self.bound if self.is_minimum else self.value <= self.bound

    @property
    def bound_text(self) -> str:
        """The bound as text."""
        return f"{'≥' if self.is_minimum else '≤'} {self.bound:.3g}{self.unit}"

    @property
    def value_text(self) -> str:
        """The value as text."""
        return f"{self.value:.2f}{self.unit}"


WARM: Final = {
    ("oci", "echo", "p50"): (ECHO, 3.0),
    ("oci", "echo", "p95"): (ECHO, 5.0),
    ("docker", "echo", "p50"): (ECHO, 4.0),
    ("docker", "echo", "p95"): (ECHO, 6.0),
    ("oci", "word", "p50"): (PYTHON, 1 / 5),
    ("docker", "word", "p50"): (PYTHON, 1 / 4),
}
"""The peer and the maximum of each ratio of a warm call, by engine, tool and percentile."""

SUSTAINED: Final = 0.9
COLD: Final = {"docker": ("docker run --rm", 1.05), "oci": ("runc run, the guest", 1.3)}
"""The peer and the maximum of the ratio of a cold call."""

SESSION: Final = 1.0
MCP: Final = 1.0
IDLE_MIB: Final = {"oci": 3.0, "docker": 6.0}
SERVE: Final = {
    "share": ("what the server adds to a warm call, relative to the call", 1.0),
    "start": ("start to the first answer with 2,000 tools, relative to `python -c 'import mcp'`", 2.0),
}
RUN: Final = {"oci": 1.5, "docker": 2.0}
IMPORTS: Final = 2.5

TRIED: Final[Mapping[str, str]] = {
    "warm": (
        "Warm calls: the guest and the interpreter run before the call, and the worker is forked while the sandbox "
        "waits. A call does not wait for the removal of its sandbox, and a replacement starts only after the call. A "
        "guest in Docker uses toolc's own socket instead of the daemon's stream. Most of the remaining time is in "
        "`run`, in which the worker prepares itself, becomes the program and reports its end, and in `lease`, in which "
        "the guest confirms that it is alive. Each of these stages wakes two or three processes. Two changes had no "
        "effect: waking the thread of the pool later, and forwarding the first output together with the end of the "
        "program. Sending the call without waiting for the confirmation saves 3 %, but the call is then lost if the "
        "sandbox has died. Letting the worker start the program with posix_spawn takes longer. Running the code of a "
        "call once while the sandbox waits saves 2 to 6 % and copies more memory. On a busy machine, both stages wait "
        "for a processor, because a container shares the processor time of its daemon's control group."
    ),
    "cold": (
        "Cold calls: the image is looked up once, the stream is attached before the start, and no stage waits for a "
        "timer. While the sandbox starts, toolc records the files of a transaction and creates the message of the "
        "call. The empty sandbox is removed in the background. Docker's network code is not used. The guest receives "
        "compiled modules, and for a program it imports none of json, typing, signal and contextlib. This halved its "
        "processor time from the start of Python to READY. The remaining time is spent in the runtime. Without the "
        "filter of system calls, the masked paths or the limits, `runc run` uses at most 15 % less processor time. "
        "With other settings of Go's scheduler and garbage collector, it uses about the same."
    ),
    "sustained": (
        "Sustained calls: at most two sandboxes per processor start at the same time, and the bundle of each kind is "
        "written only once."
    ),
    "idle": (
        "Memory: modules are loaded only when a call needs them, and the worker shares the memory of process 1. Both "
        "processes together have about 5 MiB of their own. Python without any module takes most of it, for data of the "
        "interpreter that each process copies when it counts references. `runc run`, which removes the control groups "
        "when process 1 ends, takes about 2.4 MiB, and containerd's process for each container takes about the same. "
        "Freezing the objects of process 1 before the fork (`gc.freeze`) and releasing free memory (`malloc_trim`) "
        "change nothing. With other settings, Go's garbage collector needs more memory. With one processor, it needs a "
        "tenth less, but the start takes longer."
    ),
    "session": (
        "Sessions: an answer is recognized by its call id, so that toolc does not wait for a second answer. A guest in "
        "Docker uses toolc's own socket instead of the daemon's stream."
    ),
    "mcp": (
        "MCP servers: one process serves all calls of a session. Before each call, toolc asks the server for its "
        "tools, because a definition can change at any time. This takes a quarter of the call. The rest is spent in "
        "the guest, which passes on each message, and in the threads that pass it to the client of the SDK."
    ),
    "serve": (
        "`toolc serve --http`: requests are read and answered on one thread, and calls run on others. The types of a "
        "stored registry are looked up once, and its objects are hidden from the garbage collector."
    ),
    "run": (
        "`toolc run`: an unchanged spec comes from the cache, so that neither the parser nor the compiler is loaded. "
        "Modules of other kinds of calls are imported when they are used, and expressions are compiled at their first "
        "use. Of a dataclass, only the constructor is compiled."
    ),
}
"""What was done to meet the target, by kind of row."""


def rows(parts: Mapping[str, Part]) -> list[Row]:
    """Return the rows of the targets for which there are figures."""
    return [
        *_calls(parts.get("latency-1")),
        *_sustained(parts.get("sustained")),
        *_served(parts.get("serve")),
        *_singles(parts),
    ]


def _calls(part: Part | None) -> list[Row]:
    if part is None:
        return []
    found = {each.subject: each for each in part.figures if isinstance(each, Latency)}
    made = []
    for (engine, tool, share), (peer, bound) in WARM.items():
        name = name_of(engine, tool, "warm")
        if name in found and peer in found:
            ratio = getattr(found[name], share) / getattr(found[peer], share)
            made.append(_call(f"{share}, relative to `{peer}`", bound, ratio, found[name], "warm"))
    for engine, (peer, bound) in COLD.items():
        name = name_of(engine, "echo", "cold")
        if name in found and peer in found:
            ratio = found[name].p50 / found[peer].p50
            made.append(_call(f"p50, relative to `{peer}`", bound, ratio, found[name], "cold"))
    return made


def _call(what: str, bound: float, ratio: float, latency: Latency, kind: str) -> Row:
    spent = stages_in_words(latency.stages)
    return Row(
        subject=latency.subject,
        what=f"{latency.subject}: {what}",
        unit=" x",
        bound=bound,
        value=ratio,
        spent=spent,
        tried=TRIED[kind],
    )


def _sustained(part: Part | None) -> list[Row]:
    figures = part.figures if part else ()
    return [
        Row(
            subject=each.subject,
            what=f"{each.subject}: calls per second of 8 callers, relative to the {each.base}",
            unit=" x",
            bound=SUSTAINED,
            value=each.ratio,
            is_minimum=True,
            tried=TRIED["sustained"],
        )
        for each in figures
        if isinstance(each, Rate) and each.subject.endswith("pool empty")
    ]


def _served(part: Part | None) -> list[Row]:
    rates = [each for each in part.figures if isinstance(each, Rate)] if part else []
    singles = [each for each in part.figures if isinstance(each, Single)] if part else []
    found = [
        Row(
            subject=each.subject,
            what=f"{each.subject}: calls per second of 8 callers, relative to the library",
            unit=" x",
            bound=SUSTAINED,
            value=each.ratio,
            is_minimum=True,
            tried=TRIED["serve"],
        )
        for each in rates
        if each.subject != each.base
    ]
    for each in singles:
        kind, _, subject = each.name.partition(" ")
        if kind in SERVE:
            what, bound = SERVE[kind]
            found.append(_single(f"served, {subject}", f"served, {subject}: {what}", " x", bound, each.value, "serve"))
    return found


def _singles(parts: Mapping[str, Part]) -> list[Row]:
    made = []
    figures = [each for part in parts.values() for each in part.figures if isinstance(each, Single)]
    for each in figures:
        kind, _, engine = each.name.partition(" ")
        if kind == "session":
            what = f"{engine}: a call into a session without the tool's own time, relative to `{ECHO}`"
            made.append(_single(engine, what, " x", SESSION, each.value, "session"))
        elif kind == "mcp":
            what = f"{engine}: a call to an MCP server, relative to 1.5 calls by the official client and one `{ECHO}`"
            made.append(_single(engine, what, " x", MCP, each.value, "mcp"))
        elif kind == "idle":
            what = f"{engine}: memory (`MemAvailable`) of a waiting sandbox"
            made.append(_single(engine, what, " MiB", IDLE_MIB[engine], each.value, "idle"))
        elif kind == "run":
            what = f"{engine}: `toolc run` of a shell tool as a whole process, relative to `docker run --rm`"
            made.append(_single(engine, what, " x", RUN[engine], each.value, "run"))
        elif kind == "imports":
            what = f"{engine}: the imports of `toolc run`, relative to `python -c 'import yaml, jinja2'`"
            made.append(_single(engine, what, " x", IMPORTS, each.value, "run"))
    return made


def _single(engine: str, what: str, unit: str, bound: float, value: float, kind: str) -> Row:
    return Row(subject=engine, what=what, unit=unit, bound=bound, value=value, tried=TRIED[kind])
