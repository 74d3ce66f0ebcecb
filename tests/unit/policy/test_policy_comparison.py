"""Policies that allow more than before are reported; those that allow less or the same are not."""

from pathlib import Path

import pytest

from toolc.compiler.project.policy import read_policy
from toolc.model.spec.policy import Policy
from toolc.policy.comparison import relaxations


def policy(folder: Path, text: str) -> Policy:
    (folder / "p").write_text(f"policy: {text}\n", encoding="utf-8")
    return read_policy(folder / "p")


@pytest.mark.parametrize(
    ("strict", "loose", "before", "after"),
    [
        (
            "{limits: {timeout: 1m, pids: 19}}", "{limits: {timeout: 2m, pids: 19}}", "timeout: 1m, pids: 19",
            "timeout: 2m, pids: 19",
        ),
        ("{limits: {timeout: 1m}}", "{limits: {memory: 1GiB}}", "timeout: 1m", "memory: 1GiB"),
        ("{hosts: ['a.example.com:443']}", "{hosts: ['*.example.com:443']}", "a.example.com:443", "*.example.com:443"),
        (
            "{hosts: ['a.example.com:80']}", "{hosts: [{to: 'a.example.com:80', any_host: true}]}", "a.example.com:80",
            '{to: "a.example.com:80", any_host: true}',
        ),
        ("{hosts: []}", "{}", "none", None),
        ("{public_egress: false}", "{}", "false", None),
        ("{public_egress: false}", "{hosts: ['public:443']}", "false", None),
        ("{images: ['a/**']}", "{images: ['a/**', 'b/**']}", "a/**", "a/**, b/**"),
        ("{require: [label, owner]}", "{require: [owner]}", "label, owner", "owner"),
        ("{backends: [shell]}", "{backends: [shell, python]}", "shell", "shell, python"),
        ("{expose: [broker]}", "{}", "broker", None),
        ("{workspace: [ro]}", "{workspace: [ro, rw]}", "ro", "ro, rw"),
        ("{lifetime: [call]}", "{lifetime: [call, session]}", "call", "call, session"),
        ("{run_as: nonroot}", "{}", "nonroot", None),
        ("{arguments: {json_text: false}}", "{arguments: {json_text: true}}", "json_text: false", None),
        ("{min_isolation: vm}", "{min_isolation: gvisor}", "vm", "gvisor"),
        (
            "{approvals: [{by: ['@a'], risks: [high]}]}", "{approvals: [{by: ['@b'], risks: [high]}]}", "@a for high",
            "@b for high",
        ),
    ],
)  # fmt: skip
def test_each_key_is_reported_in_one_direction(
    strict: str, loose: str, before: str, after: str | None, tmp_path: Path
) -> None:
    old, new = policy(tmp_path, strict), policy(tmp_path, loose)
    (found,) = relaxations([old], [new])
    assert (found.before, found.after) == (before, after)
    assert [*relaxations([old], [old])] == []
    assert [*relaxations([old], [new, old])] == [], "all of several policies hold"
    assert len([*relaxations([old], [])]) == 1


def test_a_list_of_hosts_without_public_excludes_public(tmp_path: Path) -> None:
    old = policy(tmp_path, "{public_egress: false}")
    assert [*relaxations([old], [policy(tmp_path, "{hosts: ['a.example.com:443']}")])] == []
