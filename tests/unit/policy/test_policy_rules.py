"""Each rule of a policy, with a tool that violates it and one that does not; composites include their steps."""

from pathlib import Path

import pytest
from data_files import load_yaml

from toolc.client.registry import Registry
from toolc.compiler.project.policy import read_policy
from toolc.model.call_graph import tools_by_name
from toolc.policy.policy import Approval, PolicyError, path_matches
from toolc.policy.rules import enforce_policies, violations

HEAD = "description: A tool that exists for the tests of policies and for nothing else.\n"
SHELL = "backend: {shell: {argv: [echo, hello]}}\n"
RULES = load_yaml("policy-rules")


def violations_of(folder: Path, policy: str, *tools: str) -> list[str]:
    """Return the violations of a policy by the last of several tools."""
    bodies = (HEAD + (text if "backend:" in text else SHELL + text) for text in tools)
    listed = (f"toolc: 1\nname: tool_{number}\n{body}" for number, body in enumerate(bodies))
    for number, text in enumerate(listed):
        (folder / f"tool_{number}.yaml").write_text(text, encoding="utf-8")
    (folder / "central").write_text(f"policy: {policy}\n", encoding="utf-8")
    registry = [*Registry.load(folder)]
    central = read_policy(folder / "central")
    found = violations(registry[-1], tools_by_name(registry), [central])
    place = (folder / "central").as_posix()
    return [f"{each.key}: {each.message}; {each.hint}".replace(place, "P") for each in found]


@pytest.mark.parametrize("case", RULES, ids=lambda case: case["policy"])
def test_each_rule_reports_only_violations(case: dict[str, str], tmp_path: Path) -> None:
    bad, good = case.get("bad", ""), case.get("good", "")
    assert violations_of(tmp_path, case["policy"], bad) == [case["message"]]
    assert violations_of(tmp_path, case["policy"], good) == []
    assert violations_of(tmp_path, "{}", bad) == []


def test_a_composite_includes_its_steps(tmp_path: Path) -> None:
    step = "sandbox: {network: {allow: ['a.example.com:443']}, limits: {timeout: 2m, memory: 1GiB}}\n"
    both = "backend: {composite: {strategy: sequential, steps: [{id: one, tool: tool_0}, {id: two, tool: tool_1}]}}\n"
    policy = "{hosts: [], limits: {memory: 512MiB, timeout: 1m}, backends: [composite]}"
    kind = "backends: a call runs a backend of the kind 'shell', which P does not allow"
    assert violations_of(tmp_path, policy, "", step, both) == [
        "limits: memory: 1GiB is more than P allows (by two); P allows memory: 512MiB or less",
        "hosts: a call may reach a.example.com:443, which P does not allow (by two); P allows none",
        f"{kind} (by one); P allows composite",
        f"{kind} (by two); P allows composite",
    ]


def test_the_error_lists_every_violation(tmp_path: Path) -> None:
    central = tmp_path / "central"
    central.write_text("policy: {require: [label], run_as: nonroot}\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(f"toolc: 1\nname: one\n{HEAD}{SHELL}", encoding="utf-8")
    registry = Registry.load(tmp_path / "a.yaml")
    with pytest.raises(PolicyError) as raised:
        enforce_policies(next(iter(registry)), registry, [read_policy(central)])
    assert str(raised.value) == (
        "the tool one was not called, because a policy does not allow it:\n"
        f"  {central} requires 'label', which this tool does not declare; add label\n"
        f"  a call may run as root, which {central} does not allow; {central} allows only run_as: nonroot"
    )


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a/*", "a/b", True), ("a/*", "a/b/c", False), ("a/**", "a/b/c", True), ("a/**", "a", True),
        ("**/b", "a/x/b", True), ("**", "a/b", True), ("a*", "a/b", False), ("*", "", True), ("a/**/b", "a/b", True),
        ("a/**/b", "a/c", False),
    ],
)  # fmt: skip
def test_only_two_stars_match_several_folders(pattern: str, path: str, *, matches: bool) -> None:
    assert path_matches(pattern, path) is matches


def test_approvals_match_rules_grades_paths_and_tags() -> None:
    anything = Approval(by=("@a",))
    assert anything.applies_to("RSK01", "low", "x.yaml", ())
    narrow = Approval(by=("@a",), risks=("RSK01", "critical"), paths=("prod/**",), tags=("pay",))
    assert narrow.applies_to("RSK01", "low", "prod/x.yaml", ("pay", "b"))
    assert narrow.applies_to("RSK02", "critical", "prod/x.yaml", ("pay",))
    assert not narrow.applies_to("RSK02", "high", "prod/x.yaml", ("pay",))
    assert not narrow.applies_to("RSK01", "low", "test/x.yaml", ("pay",))
    assert not narrow.applies_to("RSK01", "low", "prod/x.yaml", ())
