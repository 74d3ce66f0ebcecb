"""TC210: characters that people do not see, and letters that pose as others."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, messages

from toolc.compiler.checks import hidden_text

ECHO = "backend: {shell: {argv: [echo]}}\n"


def about(text: str) -> str:
    return f'toolc: 1\nname: hello\ndescription: "Say hello. {text}"\n{ECHO}'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a\u200bb", "U+200B, zero width space"),
        ("a\u200db", "U+200D, zero width joiner"),
        ("a\u202eb", "U+202E, right-to-left override"),
        ("a\u2066b", "U+2066, left-to-right isolate"),
        ("a\u00adb", "U+00AD, soft hyphen"),
        ("a\ufe0fb", "U+FE0F, variation selector-16"),
        ("a\u3164b", "U+3164, hangul filler"),
        ("\U000e0069\U000e0067", "U+E0069, tag latin small letter i"),
        ("\U000e0100", "U+E0100, variation selector-17"),
        ("😀\U000e0100", "U+E0100, variation selector-17"),
        ("👍\u200d\u200d👍", "U+200D, zero width joiner"),
        ("\u2060", "U+2060, word joiner"),
        ("क\u200dx", "U+200D, zero width joiner"),
    ],
)
def test_hidden_characters(tmp_path: Path, text: str, name: str) -> None:
    assert messages(tmp_path, hidden_text, about(text)) == [
        f"the description has a character that cannot be seen: {name}"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "naïve café, Zürich, 東京, Москва, Ελλάδα",
        "10 μm, 4 kΩ, Δt, πr²",
        "☀️ ⚠️ 1️⃣ ✔️",
        "👩‍💻 and 🏳️‍🌈",
        "می‌خواهم",
        "क्‍ष",
        "C++, e-mail, x\u00a0y",
    ],
)
def test_ordinary_writing(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, hidden_text, about(text)) == []


def test_the_finding_is_on_the_character(tmp_path: Path) -> None:
    assert findings(tmp_path, hidden_text, about("ab\u200bc"))[0].startswith("tool.yaml:3:28 ")
    folded = f"toolc: 1\nname: hello\ndescription: >-\n  Say hello to all\n  of the wor\u200bld.\n{ECHO}"
    assert findings(tmp_path, hidden_text, folded)[0].startswith("tool.yaml:5:13 ")


def test_an_escape_is_found_where_its_string_begins(tmp_path: Path) -> None:
    assert findings(tmp_path, hidden_text, about(r"ab\u200bc"))[0].startswith("tool.yaml:3:14 ")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('label: "Hi\u200b"', "the label"),
        ('deprecated: "use\u200b hi"', "the deprecated"),
        ('parameters: {a: {type: string, description: "x\u200b"}}', "the description of 'a'"),
        ('parameters: {a: {enum: ["x\u200b"]}}', "the enum of 'a'"),
        ('parameters: {a: {type: string, default: "x\u200b"}}', "the default of 'a'"),
        ('parameters: {a: {type: object, properties: {"b\u200b": {}}}}', "the name 'b\u200b'"),
        ('parameters: {a: {type: array, items: {enum: ["\u200b"]}}}', "the enum of 'a'"),
        ('parameters: {a: {anyOf: [{title: "\u200b"}]}}', "the title of 'a'"),
        (
            'parameters: {type: object, properties: {a: {}}, description: "\u200b"}',
            "the description of the parameters",
        ),
        ('parameters: {a: {}}\nexamples: [{a: ["\u200b"]}]', "an example"),
    ],
)
def test_everything_that_a_model_sees(tmp_path: Path, line: str, what: str) -> None:
    found = messages(tmp_path, hidden_text, f"{HEAD}{line}\n{ECHO}")
    assert found == [f"{what} has a character that cannot be seen: U+200B, zero width space"]


def test_what_no_model_sees_may_hold_anything(tmp_path: Path) -> None:
    assert findings(tmp_path, hidden_text, f'{HEAD}backend: {{shell: {{argv: [echo, "\u200b"]}}}}\n') == []


@pytest.mark.parametrize("word", ["\u0440\u0430ypal", "\u0391dmin", "sc\u043e\u0440e"])
def test_words_of_two_scripts(tmp_path: Path, word: str) -> None:
    (message,) = messages(tmp_path, hidden_text, about(word))
    assert message.startswith(f"the word '{word}' in the description mixes scripts: ")
