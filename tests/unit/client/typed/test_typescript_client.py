"""TypeScript clients: the whole text of one, and comments with any text. ``tsc`` reads them in an integration test."""

import pytest
from calls import typed_tools
from project.paths import GOLDEN

from toolc.client.typed.generate import client_text
from toolc.client.typed.typescript import comment


def test_the_client_of_each_construct_matches_the_golden_file(golden: bool) -> None:
    path = GOLDEN / "client" / "typescript.ts"
    text = client_text(typed_tools.registered(typed_tools.constructs()), "typescript")
    if golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", typed_tools.HOSTILE_TEXTS)
def test_a_comment_ends_at_its_end(text: str) -> None:
    block = "\n".join(comment(text, "  "))
    assert block.startswith("  /**")
    assert block.find("*/") == len(block) - 2
    assert block.replace("\n", "").isprintable()
