"""The figures of the benchmarks: what was measured, as stored in ``build/bench`` between partial runs."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from project.paths import ROOT

FOLDER: Final = ROOT / "build" / "bench"
FULL: Final = 200
"""The calls of each subject in a full run. A run with fewer does not change the page in ``docs``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The times of the calls of one subject, in milliseconds. ``stages`` are the medians of a call's stages."""

    subject: str
    callers: int
    calls: int
    p50: float
    p95: float
    p99: float
    stages: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, subject: str, callers: int, times: Sequence[float], stages: Sequence[dict[str, float]] = ()) -> Latency:
        """Return the percentiles of ``times``, which are in milliseconds."""
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        medians = {name: statistics.median(each[name] for each in stages if name in each) for name in _names(stages)}
        return cls(
            subject=subject, callers=callers, calls=len(times), p50=cuts[49], p95=cuts[94], p99=cuts[98], stages=medians
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many calls a second eight callers complete. ``ratio`` is relative to ``base``. Both are medians of rounds."""

    subject: str
    calls: int
    per_second: float
    base: str
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """A figure of its own: memory, a session, or many concurrent calls."""

    name: str
    value: float
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What could not be measured here, and why."""

    subject: str
    reason: str


Figure = Latency | Rate | Single | Skipped
KINDS: Final = {each.__name__: each for each in (Latency, Rate, Single, Skipped)}


def _names(stages: Sequence[dict[str, float]]) -> list[str]:
    return [*dict.fromkeys(name for each in stages for name in each)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The figures of one part of the benchmarks, and where they were measured."""

    name: str
    machine: str
    calls: int
    figures: tuple[Figure, ...]

    def save(self) -> None:
        """Store the part in place of an earlier one."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        figures = [{"kind": type(each).__name__, **dataclasses.asdict(each)} for each in self.figures]
        text = json.dumps({**dataclasses.asdict(self), "figures": figures}, indent=1)
        (FOLDER / f"{self.name}.json").write_text(text, encoding="utf-8")

    @classmethod
    def load_all(cls) -> dict[str, Part]:
        """Return the stored parts by name."""
        return {path.stem: cls._load(path) for path in sorted(FOLDER.glob("*.json"))}

    @classmethod
    def _load(cls, path: Path) -> Part:
        found = json.loads(path.read_text(encoding="utf-8"))
        figures = tuple(KINDS[each.pop("kind")](**each) for each in found.pop("figures"))
        return cls(**found, figures=figures)


def machine() -> str:
    """Describe this machine in a few words."""
    release = ".".join(platform.release().split(".")[:2])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} processors ({platform.machine()}), {memory:.0f} GiB of memory, Linux {release}, "
        f"Python {platform.python_version()}"
    )
