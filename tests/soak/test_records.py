"""An interrupted soak resumes with all its records."""

from pathlib import Path

from records import Record, Records


def record(step: str, seconds: float, wrong: str = "") -> Record:
    return Record(configuration="docker", step=step, death="owner", seconds=seconds, took=9, wrong=wrong)


def test_records_are_read_again_without_an_incomplete_line(tmp_path: Path) -> None:
    first = Records(tmp_path / "log")
    made = [record("created", 0.5), record("created", 0, "process 7\nfolder x"), record("started", 2)]
    for each in made:
        first.add(each)
    with (tmp_path / "log").open("a") as file:
        file.write('{"configuration": "dock')
    again = Records(tmp_path / "log")
    again.add(record("started", 1))
    last = Records(tmp_path / "log")
    assert last.of(("docker", "created", "owner")) == made[:2]
    assert last.of(("docker", "started", "owner")) == [made[2], record("started", 1)]
    assert last.of(("docker", "started", "both, then gc")) == []
    assert last.wrong() == [made[1]]


def test_the_table_has_every_result(tmp_path: Path) -> None:
    records = Records(tmp_path / "log")
    for each in (record("created", 0.5), record("created", 1), record("created", 0, "x"), record("started", 0, "x")):
        records.add(each)
    assert records.table() == (
        "configuration  step             dead                kills  median     max  left   (ms until clean)\n"
        "docker         created          owner                   3     750    1000     1\n"
        "docker         started          owner                   1       0       0     1"
    )
