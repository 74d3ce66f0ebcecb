"""The results of a soak, stored in a file from which it can resume, and as a table."""

import dataclasses
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = tuple[str, str, str]
"""The configuration, the step, and the killed processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One kill: the ``seconds`` until everything was removed, what is ``wrong``, and how long it ``took``."""

    configuration: str
    step: str
    death: str
    seconds: float
    took: float
    wrong: str = ""

    @property
    def row(self) -> Row:
        """The row of the table."""
        return self.configuration, self.step, self.death


class Records:
    """All records, in order."""

    def __init__(self, path: Path) -> None:
        """Read the file at ``path`` if it exists. An incomplete last line is ignored."""
        self._path = path
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        self._records = [Record(**json.loads(line)) for line in lines]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add(self, record: Record) -> None:
        """Add a record, also to the file."""
        self._records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(record)) + "\n")

    def of(self, row: Row) -> list[Record]:
        """Return the records of one row."""
        return [record for record in self._records if record.row == row]

    def wrong(self) -> list[Record]:
        """Return the records with problems."""
        return [record for record in self._records if record.wrong]

    def table(self) -> str:
        """Return a table of the times until everything was removed, in milliseconds."""
        rows = dict.fromkeys(record.row for record in self._records)
        return "\n".join([HEAD, *(line(self.of(row)) for row in rows)])


HEAD = f"{'configuration':15}{'step':17}{'dead':19}{'kills':>6}{'median':>8}{'max':>8}{'left':>6}   (ms until clean)"


def line(records: Sequence[Record]) -> str:
    """Return one row of the table."""
    first = records[0]
    clean = [record.seconds * 1000 for record in records if not record.wrong]
    median, most = (statistics.median(clean), max(clean)) if clean else (0, 0)
    left = len(records) - len(clean)
    words = f"{first.configuration:15}{first.step:17}{first.death:19}"
    return f"{words}{len(records):6}{median:8.0f}{most:8.0f}{left:6}"
