"""``toolc gc``: one line per leftover, with the reason if it is kept."""

import json

import pytest
from click.testing import CliRunner, Result

from toolc.cli.commands.gc import command
from toolc.model.errors import InfrastructureError
from toolc.runtime.execution import leftovers
from toolc.runtime.execution.leftovers import Survey
from toolc.sandbox.interface import Leftover


class Host:
    """A host with a folder of a dead owner, a container of a running one, and a group that cannot be removed."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.removed: list[str] = []
        self.stuck = stuck

    def survey(self) -> Survey:
        return Survey((self.left("container", "c1", "its process 7 is alive"), self.left("folder", "/run/f")))

    def left(self, kind: str, name: str, kept: str = "") -> Leftover:
        def remove() -> None:
            if self.stuck:
                raise InfrastructureError("something is mounted in it")
            self.removed.append(name)

        return Leftover(kind=kind, name=name, owner="m.b.1.7.9", kept=kept, remove=remove)


def gc(monkeypatch: pytest.MonkeyPatch, host: Host, *options: str) -> Result:
    monkeypatch.setattr(leftovers, "survey", host.survey)
    return CliRunner().invoke(command, [*options])


@pytest.mark.parametrize(
    ("options", "word", "removed"), [((), "removed", ["/run/f"]), (("--dry-run",), "would remove", [])]
)
def test_leftovers_of_dead_owners_are_removed_except_in_a_dry_run(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], word: str, removed: list[str]
) -> None:
    host = Host()
    result = gc(monkeypatch, host, *options)
    printed = f"kept  container  c1  (its process 7 is alive)\n{word}  folder  /run/f\n"
    assert (result.exit_code, result.stdout, host.removed) == (0, printed, removed)


def test_failed_removal_is_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    result = gc(monkeypatch, Host(stuck=True))
    assert result.exit_code == 3
    assert result.stdout.splitlines()[1] == "kept  folder  /run/f  (something is mounted in it)"


def test_json_output_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    result = gc(monkeypatch, Host(), "--json")
    owner = "m.b.1.7.9"
    alive = "its process 7 is alive"
    assert json.loads(result.stdout) == {
        "leftovers": [
            {"kind": "container", "name": "c1", "owner": owner, "removed": False, "reason": alive},
            {"kind": "folder", "name": "/run/f", "owner": owner, "removed": True, "reason": ""},
        ],
        "unseen": [],
    }
    dry = json.loads(gc(monkeypatch, Host(), "--json", "--dry-run").stdout)["leftovers"][1]
    assert (dry["removed"], dry["reason"]) == (False, "")


@pytest.mark.parametrize(
    ("unseen", "status", "message"),
    [
        ((), 0, "nothing to remove"),
        (("the daemon does not answer",), 3, "some places could not be inspected: the daemon does not answer"),
    ],
)
def test_nothing_to_remove_and_uninspected_places(
    monkeypatch: pytest.MonkeyPatch, unseen: tuple[str, ...], status: int, message: str
) -> None:
    monkeypatch.setattr(leftovers, "survey", lambda: Survey((), unseen))
    result = CliRunner().invoke(command, [])
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", f"toolc: {message}\n")
