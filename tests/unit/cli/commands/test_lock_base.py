"""``toolc lock --check --base``: the settings of the base apply to the specs."""

from collections.abc import Mapping

import pytest
from cli.command_line import Result, toolc
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

POLICY = "policy: {hosts: []}\n"
HOST = f"{PLAIN}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"
SEE = PLAIN.replace("name: look", "name: see")


def lock(*arguments: str) -> Result:
    return toolc("lock", *arguments)


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
