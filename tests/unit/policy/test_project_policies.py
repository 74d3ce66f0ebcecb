"""Policies of project files and of ``--policy``: the positions of findings, and nested project files."""

from pathlib import Path

import pytest

from toolc.compiler.effective_values import effective
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.policy import read_policy
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.model.errors import UsageError

ONE = """\
toolc: 1
name: one
description: Do one thing for the tests of policies, and do nothing besides it.
backend: {shell: {argv: [echo, hi]}}
sandbox:
  network: {allow: [z.example.org:443, a.example.com:443]}
"""
REACH = "a call may reach {}:443, which {} does not allow"
BOTH = """\
toolc: 1
name: both
description: Call what these tests have for calling, one call after the other.
backend:
  composite:
    strategy: sequential
    steps:
      - {id: first, tool: one}
"""


pytestmark = pytest.mark.usefixtures("own_folder")


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(*paths: str, settings: Settings = NO_SETTINGS) -> list[str]:
    compilation = compile_specs([Path(path) for path in paths or ("specs",)], settings)
    return [f"{each.span} {each.code.number} {each.message}" for each in compilation.diagnostics.sorted()]


def test_a_finding_is_at_the_entry_or_at_the_step_that_adds_it() -> None:
    write(toolc="policy: {hosts: [a.example.com:443]}\n", specs__one=ONE, specs__both=BOTH)
    assert found() == [
        f"specs/both.yaml:8:27 TC902 'both': {REACH.format('z.example.org', 'toolc.yaml')} (by first)",
        f"specs/one.yaml:6:21 TC902 'one': {REACH.format('z.example.org', 'toolc.yaml')}",
    ]


def test_a_missing_declaration_is_reported_at_its_parent() -> None:
    write(toolc="policy: {run_as: nonroot, limits: {pids: 19}, require: [owner]}\n", specs__one=ONE)
    assert found() == [
        "specs/one.yaml:2:7 TC904 'one': toolc.yaml requires 'owner', which this tool does not declare",
        "specs/one.yaml:5:1 TC901 'one': pids: 128 is more than toolc.yaml allows",
        "specs/one.yaml:5:1 TC908 'one': a call may run as root, which toolc.yaml does not allow",
    ]


def test_a_project_default_is_reported_in_the_project_file() -> None:
    write(toolc="policy: {workspace: [ro]}\ndefaults: {sandbox: {workspace: rw}}\n", specs__one=ONE)
    assert found() == [
        "toolc.yaml:2:33 TC907 'one': a call has a workspace in mode 'rw', which toolc.yaml does not allow"
    ]


def test_nested_project_files_cannot_relax_a_policy() -> None:
    policy = "policy: {hosts: [a.example.com:443]}\n"
    write(toolc=policy, specs__toolc="policy: {hosts: [z.example.org:443]}\n", specs__one=ONE)
    assert found() == [
        f"specs/one.yaml:6:21 TC902 'one': {REACH.format('z.example.org', 'toolc.yaml')}",
        f"specs/one.yaml:6:40 TC902 'one': {REACH.format('a.example.com', 'specs/toolc.yaml')}",
    ]
    write(specs__toolc="vars: {a: 1}\n")
    assert len(found()) == 1
    Path("specs/.git").mkdir()  # another repository, as a submodule is
    assert found() == []


def test_an_unreadable_policy_of_a_parent_folder_is_an_error() -> None:
    write(toolc="policy: {host: []}\n", specs__toolc="vars: {a: 1}\n", specs__one=ONE)
    assert found() == ["toolc.yaml:1:10 TC101 the policy has no key 'host'"]
    write(toolc="policy: {hosts: [}\n")
    assert [each.split()[1] for each in found()] == ["TC001"]


def test_a_central_policy_applies_in_addition_to_the_projects(tmp_path: Path) -> None:
    write(toolc="policy: {hosts: [z.example.org:443]}\n", central="policy: {hosts: [a.example.com:443]}\n")
    write(specs__one=ONE, specs__both=BOTH)
    central = Settings(policies=(read_policy("central.yaml"),))
    assert [each.split(" ", 2)[0] for each in found(settings=central)] == [
        "specs/both.yaml:8:27",
        "specs/both.yaml:8:27",
        "specs/one.yaml:6:21",
        "specs/one.yaml:6:40",
    ]


def test_a_registry_contains_what_a_policy_says_about_arguments() -> None:
    write(specs__one=ONE)
    (plain,) = compile_specs([Path("specs")]).registry().tools
    assert "json_text" not in plain.to_json()
    central = "policy: {arguments: {json_text: false}}\n"
    write(central=central)
    (by_central,) = compile_specs([Path("specs")], Settings(policies=(read_policy("central.yaml"),))).registry().tools
    write(toolc=central)
    compilation = compile_specs([Path("specs")])
    (by_project,) = compilation.registry().tools
    assert by_central.to_json() == by_project.to_json()
    assert by_project.to_json()["json_text"] is False
    assert (by_project.surface_digest == plain.surface_digest, by_project.effect_digest) != (True, plain.effect_digest)
    assert ("policy.arguments.json_text", False, "toolc.yaml:1:10") in [
        (each.key, each.value, each.origin) for each in effective(compilation.located[0])
    ]


def test_a_finding_of_a_policy_cannot_be_ignored() -> None:
    spec = ONE.replace("443]}", "443]} # toolc: ignore[TC902] not relevant")
    write(toolc="policy: {hosts: []}\nlint: {severity: {TC902: 'off'}}\n", specs__one=spec)
    assert {each.split(" ")[1] for each in found()} == {"TC902", "TC807", "TC108"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy: {limits: {timeout: 5}}\n", "p.yaml:1:28: 'timeout' must be a duration"),
        ("policy:\n", "p.yaml:1:1: 'policy' must be a map, but is empty"),
        ("{}\n", "p.yaml:1:1: the policy file has no 'policy'"),
        ("hosts: []\npolicy: {}\n", "p.yaml:1:1: the policy file has no key 'hosts'"),
        ("policy: {hosts: ['*.com:443']}\n", "p.yaml:1:18: 'hosts'[0]: '*.com' would allow too much"),
        ("policy: {approvals: [{by: []}]}\n", "p.yaml:1:27: 'by' must not be empty"),
        ("policy: {a: &a 1\n", "p.yaml:"),
        ("", "p.yaml:1:1: the policy file has no 'policy'"),
    ],
)
def test_a_central_policy_with_an_error_allows_nothing(text: str, message: str) -> None:
    write(p=text)
    with pytest.raises(UsageError) as raised:
        read_policy("p.yaml")
    first, *lines = str(raised.value).splitlines()
    assert first == "the policy p.yaml cannot be used:"
    assert lines[0].startswith(message)


def test_a_missing_central_policy_is_an_error() -> None:
    with pytest.raises(UsageError, match="cannot read nowhere"):
        read_policy("nowhere")
