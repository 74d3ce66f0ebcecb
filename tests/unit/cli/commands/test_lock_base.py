"""``toolc lock --check --base``: the settings of the base apply to the specs."""

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from repositories import Repository
from reviewing import PLAIN

from toolc.cli.main import main

POLICY = "policy: {hosts: []}\n"
HOST = f"{PLAIN}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"
SEE = PLAIN.replace("name: look", "name: see")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(made.top)
    return made


def lock(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main(["lock", *arguments])
    return int(exited.value.code or 0), out.getvalue(), err.getvalue()


def test_a_spec_that_only_the_head_excludes_is_compared(repository: Repository) -> None:
    base = repository.commit({"a.yaml": PLAIN, "b.yaml": SEE, "toolc.yaml": "exclude: [old]\n"})
    repository.write({"toolc.yaml": "exclude: [b.yaml]\n"})
    assert lock()[0] == 0
    assert lock("--check")[0] == 0
    status, text, _ = lock("--check", "--base", base)
    assert status == 1
    assert "see" in text


@pytest.mark.parametrize(("review", "status"), [("", 1), ("review: {accept_from: head}\n", 0)])
@pytest.mark.parametrize("head", [{"toolc.yaml": ""}, {"toolc.yaml": "policy: {hosts: ['b.example.com:443']}\n"}])
def test_the_policy_of_the_base_applies(
    repository: Repository, head: Mapping[str, str], review: str, status: int
) -> None:
    base = repository.commit({"a.yaml": PLAIN, "toolc.yaml": f"{POLICY}{review}"})
    repository.write({"a.yaml": HOST, **head})
    assert lock()[0] == 0
    assert lock("--check", "--base", base)[0] == status


def test_the_lock_of_the_head_is_compared_with_the_specs_of_the_head(repository: Repository) -> None:
    base = repository.commit({"a.yaml": PLAIN, "toolc.yaml": POLICY})
    repository.write({"a.yaml": PLAIN.replace("50", "20")})
    assert lock()[0] == 0
    assert lock("--check", "--base", base)[0] == 0
