"""``toolc check --base``: the lint settings, exclusions and comments of a pull request do not hide its findings."""

import pytest
from cli.command_line import Result, toolc
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

SHORT = PLAIN.replace("Look a thing up by its name. Use it for names of things, not for their numbers.", "Look up.")
IGNORING = SHORT.replace("description: Look", "# toolc: ignore[TC204] short\ndescription: Look")


def check(*arguments: str) -> Result:
    return toolc("check", ".", "--strict", *arguments)


@pytest.mark.parametrize(
    "head",
    [
        {"a.yaml": SHORT, "toolc.yaml": "lint: {ignore: [TC2]}\n"},
        {"a.yaml": SHORT, "toolc.yaml": "lint: {select: [TC3]}\n"},
        {"a.yaml": SHORT, "toolc.yaml": "exclude: [a.yaml]\n", "b.yaml": PLAIN.replace("name: look", "name: see")},
        {"a.yaml": IGNORING},
    ],
)
def test_the_settings_of_the_head_hide_nothing(repository: Repository, head: dict[str, str]) -> None:
    base = repository.commit({"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"})
    repository.write(head)
    assert check()[:1] == (0,)
    status, text, _ = check("--base", base)
    assert status == 1
    assert "TC204" in text


def test_the_base_can_let_the_head_decide(repository: Repository) -> None:
    base = repository.commit({"a.yaml": PLAIN, "toolc.yaml": "review: {accept_from: head}\n"})
    repository.write({"a.yaml": IGNORING})
    assert check("--base", base)[0] == 0


def test_fixes_are_applied_without_base(repository: Repository) -> None:
    base = repository.commit({"a.yaml": PLAIN})
    status, _, error = check("--fix", "--base", base)
    assert (status, error) == (2, "toolc: --base cannot be used with --fix, --unsafe-fixes or --diff\n")
