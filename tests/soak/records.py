"""What a soak has found so far, kept in a file from which it goes on, and as a table."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = tuple[str, str, str]
"""Which configuration, at which step, and who died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One kill: ``seconds`` until nothing was left, ``wrong`` what was if anything; it took ``took`` seconds."""

    configuration: str
    step: str
    death: str
    seconds: float
    took: float
    wrong: str = ""

    @property
    def row(self) -> Row:
        """Where it belongs in the table."""
        return self.configuration, self.step, self.death


class Records:
    """All of them, in the order in which they were made."""

    def __init__(self, path: Path) -> None:
        """``path`` need not be there yet. A last line that was cut short is left out."""
        self._path = path
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        self._records = [Record(**json.loads(line)) for line in lines]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add(self, record: Record) -> None:
        """Keep it, at once also in the file."""
        self._records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(record)) + "\n")

    def of(self, row: Row) -> list[Record]:
        """Those of one row."""
        return [record for record in self._records if record.row == row]

    def wrong(self) -> list[Record]:
        """Those after which anything was left, or that went wrong otherwise."""
        return [record for record in self._records if record.wrong]

    def table(self) -> str:
        """How long it took until nothing was left, in milliseconds, in the order of the first kills."""
        rows = dict.fromkeys(record.row for record in self._records)
        return "\n".join([HEAD, *(line(self.of(row)) for row in rows)])


HEAD = f"{'configuration':15}{'step':17}{'dead':19}{'kills':>6}{'median':>8}{'max':>8}{'left':>6}   (ms until clean)"


def line(records: Sequence[Record]) -> str:
    """One row of the table."""
    first = records[0]
    clean = [record.seconds * 1000 for record in records if not record.wrong]
    median, most = (statistics.median(clean), max(clean)) if clean else (0, 0)
    left = len(records) - len(clean)
    words = f"{first.configuration:15}{first.step:17}{first.death:19}"
    return f"{words}{len(records):6}{median:8.0f}{most:8.0f}{left:6}"
