from __future__ import annotations

from pathlib import Path

from compiled import HEAD, compile_text

from toolc.document.nodes import strings

SPEC = f"""{HEAD}backend:
  shell:
    argv: [echo, 7, {{when: loud, argv: ["!"]}}]
    stdin: quiet
parameters: {{loud: {{type: boolean}}}}
"""


def test_strings_are_returned_in_order_with_their_position(tmp_path: Path) -> None:
    (tool,) = compile_text(tmp_path, SPEC.replace("7", "'7'")).located
    found = strings(tool.node.get("backend"))
    assert [text for _, text in found] == ["echo", "7", "loud", "!", "quiet"]
    assert [node.span.start.line for node, _ in found] == [6, 6, 6, 6, 7]


def test_numbers_and_some_keys_are_skipped(tmp_path: Path) -> None:
    (tool,) = compile_text(tmp_path, SPEC.replace("echo, 7", "echo")).located
    assert [text for _, text in strings(tool.node.get("backend"), {"when", "stdin"})] == ["echo", "!"]
    assert strings(tool.node.get("result")) == []
