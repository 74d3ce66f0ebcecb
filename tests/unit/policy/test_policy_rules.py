"""Each rule of a policy, with a tool that violates it and one that does not; composites include their steps."""

from pathlib import Path
from textwrap import indent

import pytest
from project.data_files import load_yaml

from toolc.client.registry import Registry
from toolc.compiler.project.policy import read_policy
from toolc.model.call_graph import tools_by_name
from toolc.model.errors import PolicyError
from toolc.model.source import Position, Span
from toolc.model.spec.policy import Approval, Policy, path_matches
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
    kind = "backends: the tool has a 'shell' backend, which P does not allow"
    assert violations_of(tmp_path, policy, "", step, both) == [
        "limits: memory: 1GiB is more than P allows (by two); P allows memory: 512MiB or less",
        "hosts: a call may reach a.example.com:443, which P does not allow (by two); P allows none",
        f"{kind} (by one); P allows composite",
        f"{kind} (by two); P allows composite",
    ]


def test_a_tool_without_a_limit_of_its_workspace_exceeds_every_maximum(tmp_path: Path) -> None:
    limited, unlimited = (f"sandbox: {{workspace: rw, limits: {{{each}}}}}\n" for each in ("workspace: 2MiB", ""))
    assert violations_of(tmp_path, "{limits: {workspace: 2MiB}}", limited) == []
    assert violations_of(tmp_path, "{limits: {workspace: 2MiB}}", "sandbox: {workspace: ro}\n") == []
    assert violations_of(tmp_path, "{limits: {workspace: 2MiB}}", unlimited) == [
        "limits: workspace: no limit is more than P allows; P allows workspace: 2MiB or less"
    ]


AGENT = """\
parameters: {about: {type: string, maxLength: 9, description: The topic}}
backend:
  agent: {provider: openai, model: m, instructions: "{{ about }}?", tools: [tool_0], api_key: "{{ secrets.K }}"}
sandbox: {secrets: {K: {hosts: [api.openai.com]}}}
"""


def test_an_agent_includes_its_tools(tmp_path: Path) -> None:
    step = "sandbox: {network: {allow: ['a.example.com:443']}, workspace: rw, limits: {memory: 1GiB}, image: 'a:1'}\n"
    policy = """{
      hosts: [], workspace: [ro], images: [], limits: {memory: 512MiB}, backends: [agent], lifetime: [session],
      expose: [file], run_as: nonroot, min_isolation: vm
    }"""
    assert violations_of(tmp_path, policy, step, AGENT) == [
        "limits: memory: 1GiB is more than P allows (by tool_0); P allows memory: 512MiB or less",
        "hosts: a call may reach a.example.com:443, which P does not allow (by tool_0); P allows none",
        "hosts: a call may reach api.openai.com:443, which P does not allow; P allows none",
        "images: a call runs in the image 'a:1', which P does not allow (by tool_0); P allows none",
        "backends: the tool has a 'shell' backend, which P does not allow (by tool_0); P allows agent",
        "expose: the secret K has 'expose: broker', which P does not allow; P allows file",
        "workspace: a call has a workspace in mode 'rw', which P does not allow (by tool_0); P allows ro",
        "isolation: a call may run as root, which P does not allow (by tool_0); P allows only run_as: nonroot",
        "isolation: min_isolation: namespace is weaker than P allows (by tool_0); P allows vm or stronger",
        "lifetime: calls have one sandbox per call, which P does not allow (by tool_0); P allows session",
    ]


TOKEN = """\
backend:
  http:
    url: https://{url}/now
    auth: {{oauth2: {{token_url: 'https://{token}/token', client_id: me, client_secret: '{{{{ secrets.S }}}}'}}}}
sandbox: {{secrets: {{S: {{hosts: [{host}]}}}}{more}}}
"""


@pytest.mark.parametrize(
    ("tool", "places"),
    [
        (AGENT, ["backend.agent.tools.0", "backend.agent.base_url"]),
        (TOKEN.format(url="a.example.com", token="b.example.com", host="b.example.com", more=""),
         ["backend.http.url", "backend.http.auth.oauth2.token_url"]),
        (TOKEN.format(url="a.example.com", token="a.example.com", host="a.example.com", more=""),
         ["backend.http.url"]),
        (TOKEN.format(url="a.example.com", token="a.example.com:8443", host="a.example.com", more=""),
         ["backend.http.url", "backend.http.auth.oauth2.token_url"]),
        (TOKEN.format(url="a.example.com", token="b.example.com", host="b.example.com",
                      more=", network: {allow: ['a.example.com:443', 'b.example.com:443']}"),
         ["sandbox.network.allow"] * 2),
    ],
)  # fmt: skip
def test_a_host_is_reported_where_the_spec_names_it(tool: str, places: list[str], tmp_path: Path) -> None:
    step = "sandbox: {network: {allow: ['a.example.com:443']}}\n"
    (tmp_path / "two.yaml").write_text(
        "toolc: 1\ntools:\n"
        + "".join(f"  - name: tool_{n}\n{indent(HEAD + each, '    ')}" for n, each in enumerate([SHELL + step, tool])),
        encoding="utf-8",
    )
    registry = [*Registry.load(tmp_path)]
    found = violations(registry[-1], tools_by_name(registry), [Policy(hosts=())])
    assert [".".join(map(str, each.route)) for each in found] == places


def test_a_policy_without_places_is_at_the_start_of_its_file() -> None:
    start = Span("P", Position(1, 1), Position(1, 2))
    whole, limits = (Span("P", Position(line, 1), Position(line, 9)) for line in (2, 3))
    assert Policy(path="P").span("limits") == start
    assert Policy(path="P", places={"": whole}).span("limits") == whole
    assert Policy(path="P", places={"": whole, "limits": limits}).span("limits") == limits


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
