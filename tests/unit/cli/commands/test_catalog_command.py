"""``toolc catalog``: one file of HTML, with the states of tools in the nearest lock file."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolc.cli.commands.catalog import command
from toolc.model.errors import UsageError

SPEC = "toolc: 1\nname: count\ndescription: Count words.\nbackend: {shell: {argv: [wc]}}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments], catch_exceptions=False)


def entry(file: Path, name: str) -> Any:
    (stored,) = re.findall(r'id="stored">(.*?)</script>', file.read_text(encoding="utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(stored)))[f"catalog/{name}"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()  # the search for a lock file ends here
    (tmp_path / "count.yaml").write_text(SPEC)
    return tmp_path


def test_the_file_has_the_tools_of_the_specs(folder: Path) -> None:
    result = run("count.yaml", "--html", "catalog.html")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "toolc: wrote catalog.html with 1 tool\n")
    assert entry(folder / "catalog.html", "count")["description"] == "Count words."
    assert entry(folder / "catalog.html", "count")["lock"] is None


def test_a_tool_that_the_lock_file_does_not_approve_is_marked(folder: Path) -> None:
    (folder / "toolc.lock").write_text("# toolc.lock 1\nbase=any\n")
    run("count.yaml", "--html", "catalog.html")
    found = entry(folder / "catalog.html", "count")
    assert (found["lock"], [each["moved"] for each in found["lock_changes"]]) == ("new", ["added"])


def test_a_file_that_has_no_results_or_cannot_be_written_is_refused(folder: Path) -> None:
    (folder / "results.json").write_text("{}")
    with pytest.raises(UsageError, match="has no results of tests"):
        run("count.yaml", "--html", "catalog.html", "--tests", "results.json")
    with pytest.raises(UsageError, match=r"missing/catalog\.html cannot be written"):
        run("count.yaml", "--html", "missing/catalog.html")
    assert not (folder / "catalog.html").exists()


def test_a_file_to_write_is_required_and_no_folder() -> None:
    assert run("count.yaml").exit_code == 2
    with pytest.raises(UsageError, match="name a file in it"):
        run("count.yaml", "--html", ".")
