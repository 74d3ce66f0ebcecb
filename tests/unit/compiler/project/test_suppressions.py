"""Suppressions (``# toolc: ignore[...]``) in YAML and TOML."""

from pathlib import Path

import pytest
from compiling.compiled import compile_text, found_in

from toolc.model.diagnostics import MAX_SAME_CODE

HEAD = "toolc: 1\nname: hello\n"
TAIL = "backend: {shell: {argv: [echo, hello]}}\n"
SHORT = "TC204 a description of 10 characters is too short for a model"
UNUSED = "TC807 there is no TC204 to suppress here"
REASONLESS = "TC808 this comment does not say why"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("description: Say hello.  # toolc: ignore[TC204] short\n", []),
        ("description: 'Say hello.' # toolc:ignore[ TC204 , TC208 ] short\n", []),
        ("# toolc: ignore[TC204] short\ndescription: Say hello.\n", []),
        ("# toolc: ignore[TC204] short\n# more words\n   # and more\ndescription: Say hello.\n", []),
        ("# toolc: ignore[TC204] short\n\ndescription: Say hello.\n", [f"3:17 {UNUSED}", f"5:14 {SHORT}"]),
        ("tags: [a]  # toolc: ignore[TC204] short\ndescription: Say hello.\n", [f"3:28 {UNUSED}", f"4:14 {SHORT}"]),
        ("description: Say hello.\n# toolc: ignore[TC204] too late\n", [f"3:14 {SHORT}", f"4:17 {UNUSED}"]),
        ("description: |  # toolc: ignore[TC204] short\n  Say hello\n\n", []),
        ("description: |\n  Say hello.\n# toolc: ignore[TC204] nothing\n", [f"3:14 {SHORT}", f"5:17 {UNUSED}"]),
        ("description: >-\n  a # toolc: ignore[TC204] b\n", [None]),
        ("description: 'Say hello to all.#toolc: ignore[TC204] text'\n", []),
        ("description: Say hello.  # please toolc: ignore[TC204] no\n", [f"3:14 {SHORT}"]),
        ("description: Say hello.  # toolc: ignored[TC204] no\n", [f"3:14 {SHORT}"]),
        ("description: Say hello.  # toolc: ignore[TC204]\n", [f"3:26 {REASONLESS}"]),
        ("description: Say hello.  # toolc: ignore[TC204] - !\n", [f"3:26 {REASONLESS}"]),
        ("description: Say hello.  # toolc: ignore[TC204] короткое\n", []),
        ("description: Say ✓ 😀 hi  # toolc: ignore[TC204] short\n", []),
        ("description: Say hello.  # toolc: ignore[TC204] a # toolc: ignore[TC204] b\n", []),
    ],
)
def test_comments_in_yaml_suppress_findings(tmp_path: Path, lines: str, found: list[str | None]) -> None:
    reported = found_in(tmp_path, HEAD + lines + TAIL)
    assert reported == found if None not in found else not any("TC80" in each for each in reported)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('description = "Say hello."  # toolc: ignore[TC204] short\n', []),
        ('# toolc: ignore[TC204] short\ndescription = "Say hello."\n', []),
        ('description = "Say # toolc: ignore[TC204] a thing"\n', []),
        ('description = "# toolc: ignore[TC204]"\ntags = ["# toolc: ignore[TC214] b"]\n', []),
        ('description = "a # toolc: ignore[TC204] b"  # toolc: ignore[TC208] c\n', []),
        ('description = "# toolc: ignore the p\u0430ge"  # toolc: ignore[TC210] it is not in the text\n', []),
        ('description = """\nSay\n  # toolc: ignore[TC204] text\n"""\n', []),
        ("description = '''Hi\n# toolc: ignore[TC204] text'''\n", [f"3:15 {SHORT.replace('10', '33')}"]),
        (
            'tags = [\n  # toolc: ignore[TC204] nothing\n  "a",\n]\ndescription = "Say it to the whole world."\n',
            [f"4:19 {UNUSED}"],
        ),
    ],
)
def test_comments_in_toml_suppress_findings(tmp_path: Path, lines: str, found: list[str]) -> None:
    text = 'toolc = 1\nname = "hello"\n' + lines + 'backend.shell.argv = ["echo", "hello"]\n'
    reported = compile_text(tmp_path, text, "tool.toml").diagnostics.sorted()
    findings = [
        f"{each.span.start.line}:{each.span.start.column} {each.code.number} {each.message}" for each in reported
    ]
    assert findings == [each for each in found if "33" not in each]


def test_only_the_named_code_is_suppressed(tmp_path: Path) -> None:
    text = HEAD + "description: Say hello.  # toolc: ignore[TC003] the wrong one\n" + TAIL
    assert found_in(tmp_path, text) == [f"3:14 {SHORT}", "3:42 TC807 there is no TC003 to suppress here"]


def test_an_error_cannot_be_ignored(tmp_path: Path) -> None:
    text = HEAD + "description: Say hello to the whole world.\nextra: 1  # toolc: ignore[TC101] later\n" + TAIL
    assert found_in(tmp_path, text) == [
        "4:1 TC101 the tool has no key 'extra'",
        "4:27 TC807 TC101 is an error that prevents compilation and cannot be ignored",
    ]


def test_unused_suppressions_are_not_reported_in_files_with_errors(tmp_path: Path) -> None:
    text = HEAD + "description: []  # toolc: ignore[TC204] short\n" + TAIL
    assert found_in(tmp_path, text) == ["3:14 TC108 'description' must be a string, but is a list"]


def test_an_unparsable_file_has_only_its_syntax_error(tmp_path: Path) -> None:
    text = HEAD + "description: [  # toolc: ignore[TC204]\n"
    assert [each.split()[1] for each in found_in(tmp_path, text)] == ["TC001"]


def test_suppressions_of_findings_across_files_are_never_unused(tmp_path: Path) -> None:
    text = "toolc: 1\nname: hello  # toolc: ignore[TC203] the other is in another file\n"
    assert found_in(tmp_path, text + "description: Say hello to the whole world.\n" + TAIL) == []


@pytest.mark.slow
def test_many_comments_are_read_in_bounded_time(tmp_path: Path) -> None:
    text = HEAD + "# toolc: ignore[TC204] x\n" * 20_000 + "description: Say hello to the world.\n" + TAIL
    assert len(found_in(tmp_path, text)) == MAX_SAME_CODE + 1


def test_comments_in_python_files_suppress_findings(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(
        "import os\n"
        "def hello(x):\n"
        "    '# toolc: ignore[TC411] is text here'\n"
        "    os.system(x)  # toolc: ignore[TC411] a list of commands is checked before\n"
        "    eval(x)\n"
        "    # toolc: ignore[TC411] nothing to ignore\n"
    )
    spec = "description: Say hello to the whole world.\nparameters: {x: {type: string}}\n"
    compilation = compile_text(tmp_path, f"{HEAD}{spec}backend: {{python: {{file: hello.py}}}}\n")

    found = compilation.diagnostics.sorted()

    assert [(each.span.start, each.code.number, each.fix) for each in found] == [
        ((5, 5), "TC411", None),
        ((6, 21), "TC807", None),
    ]
