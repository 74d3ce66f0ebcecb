"""A tool that becomes an agent: its limits are not compared with those of another kind of backend."""

from pathlib import Path

from reviews.reviewing import PLAIN, change_lines, difference

AGENT = PLAIN.replace(
    '  shell:\n    argv: [echo, --, "{{ name }}"]\n',
    "  agent:\n    provider: anthropic\n    model: claude-sonnet\n    base_url: https://llm.example.com/v1\n"
    '    instructions: "Look {{ name }} up."\n    tools: []\n    api_key: "{{ secrets.LLM_KEY }}"\n    max_turns: 5\n'
    "sandbox: {secrets: {LLM_KEY: {hosts: [llm.example.com]}}}\n",
)


def agent_lines(folder: Path, old: str, new: str) -> list[str]:
    (tool,) = difference(folder, {"a.yaml": old}, {"a.yaml": new}).tools
    return [line for line in change_lines(tool.changes) if "max_turns" in line]


def test_more_turns_of_an_agent_are_a_risk(tmp_path: Path) -> None:
    assert agent_lines(tmp_path / "a", PLAIN, AGENT) == []
    assert agent_lines(tmp_path / "b", AGENT, PLAIN) == []
    assert len(agent_lines(tmp_path / "c", AGENT, AGENT.replace("max_turns: 5", "max_turns: 9"))) == 1
