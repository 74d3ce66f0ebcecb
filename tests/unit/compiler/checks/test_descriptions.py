"""Checks of descriptions: TC204 (length), TC209 (similarity) and TC301 (parameters)."""

import time
from pathlib import Path

import pytest
from check_cases import findings, shell

from toolc.compiler.checks.descriptions import check_similar_descriptions
from toolc.compiler.pipeline.compile import compile_specs

LONG = "Search the archive of all messages by sender, subject and date, and return the newest hits first"


def tools(*descriptions: str) -> str:
    each = "".join(
        f"  - {{name: {name}, description: '{text}', backend: {{shell: {{argv: [a]}}}}}}\n"
        for name, text in zip(("alpha", "beta", "gamma"), descriptions, strict=False)
    )
    return f"toolc: 1\ntools:\n{each}"


@pytest.mark.parametrize(
    "other", [LONG, LONG.upper(), LONG + ".", LONG.replace(" ", "  "), "Search" + LONG[6:] + " now"]
)
def test_similar_descriptions_are_reported(tmp_path: Path, other: str) -> None:
    assert findings(tmp_path, "TC209", tools(LONG, other)) == [
        "tool.yaml:4:31 this description is nearly the same as that of 'alpha', the tool at tool.yaml:3:12"
    ]


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("messages", "tickets").replace("sender", "reporter"),
        "Search the archive of messages",
        LONG + ". Use it for old ones only, and not for what came in today or yesterday",
    ],
)
def test_different_descriptions_are_not_reported(tmp_path: Path, other: str) -> None:
    assert findings(tmp_path, "TC209", tools(LONG, other)) == []


def test_a_word_of_the_names_distinguishes_descriptions(tmp_path: Path) -> None:
    more = ". Use it when the user asks what was written, by whom and when; do not use it to write, to delete or to"
    more += " mark as read. An archive that is closed to the user gives an error that says so, and no hits at all"
    text = tools(LONG + more, LONG.replace("messages", "tickets") + more)
    named = text.replace("alpha", "list_messages").replace("beta", "list_ticket")
    assert len(findings(tmp_path, "TC209", text)) == 1
    assert findings(tmp_path, "TC209", named) == []


def test_equal_descriptions_are_reported_despite_different_names(tmp_path: Path) -> None:
    text = tools(LONG, LONG).replace("alpha", "search_messages").replace("beta", "search_archive")
    assert len(findings(tmp_path, "TC209", text)) == 1


def test_short_descriptions_are_not_compared(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC209", tools("Say hello to the world.", "Say hello to the world.")) == []


def test_each_duplicate_is_reported(tmp_path: Path) -> None:
    assert len(findings(tmp_path, "TC209", tools(LONG, LONG, LONG))) == 2


def test_time_grows_with_the_number_of_tools(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(tools(LONG), encoding="utf-8")
    (tool,) = compile_specs([tmp_path / "tool.yaml"]).located

    def seconds(count: int) -> float:
        start = time.process_time()
        list(check_similar_descriptions([tool] * count))
        return time.process_time() - start

    seconds(500)
    assert seconds(8000) < 16 * 4 * max(seconds(500), 0.001)


COMMAND = '{argv: [a, "{{ a }}"]}'


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{a: {type: string}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        ("{a: {type: string, description: ' '}}", ["tool.yaml:4:14 the parameter 'a' has no description"]),
        ("{type: object, properties: {a: {}}, required: [a]}", ["tool.yaml:4:41 the parameter 'a' has no description"]),
        ("{a: {type: string, description: A word}}", []),
        ("{type: object, properties: {a: {$ref: '#/$defs/b'}}, required: [a], $defs: {b: {}}}", []),
    ],
)
def test_missing_parameter_descriptions_are_reported(tmp_path: Path, parameters: str, found: list[str]) -> None:
    assert findings(tmp_path, "TC301", shell(parameters, COMMAND)) == found


@pytest.mark.parametrize(
    ("name", "description", "found"),
    [
        ("web_lookup", "Search for information.", True),
        ("lookup", "Look up information for the user", True),
        ("lookup", "Look up the meaning of a word in the dictionary", False),
        ("list_open_invoices_of_late_customer", "List open invoices of a late customer", False),
    ],
)
def test_description_that_adds_nothing_to_the_name_is_reported(
    tmp_path: Path, name: str, description: str, *, found: bool
) -> None:
    text = tools(description).replace("alpha", name)
    assert findings(tmp_path, "TC204", text) == (
        [f"tool.yaml:3:{27 + len(name)} this description adds nothing to the name '{name}'"] * found
    )
