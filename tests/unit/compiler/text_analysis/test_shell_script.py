"""The shell grammar that decides which text of a script is code, data or a comment, and the work that reading costs."""

import sys
from typing import Final

import pytest

from toolc.compiler.text_analysis.shell_script import MAX_DEPTH, Command, Expansion, read_script


def words(text: str) -> list[list[str]]:
    """Return the words of each command: constant text, ``$name`` and ``$(...)``."""
    return [[_shown(word.parts) for word in command.words] for command in read_script(text).commands]


def _shown(parts: tuple[object, ...]) -> str:
    return "".join(
        part if isinstance(part, str) else f"${part.name}" if isinstance(part, Expansion) else "$()" for part in parts
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d $e\" f\\ g", [["a", "b c", "d $e", "f g"]]), ("a # b\nc#d", [["a"], ["c#d"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]), ("a\\\n b", [["a", "b"]]),
        ("a $(b \"$(c)\") `d`", [["c"], ["b", "$()"], ["d"], ["a", "$()", "$()"]]), ("a >b 2>&1 <c d", [["a", "d"]]),
        ("case $a in b|c) d;; (e) f;; esac; g", [["d"], ["f"], ["g"]]),
        ("f() { a; }; function g { b; }", [["f"], ["a"], ["b"]]),
        ("if [[ $a == (b|c) && d ]]; then e; fi", [["e"]]), ("a $((1 + (2))) b", [["a", "$()", "b"]]),
        ("a <<E; b\nc\nE\nd", [["a"], ["b"], ["d"]]), ("a <<-'E'\n\tc\n\tE\nd", [["a"], ["d"]]), ("((a)); b", [["b"]]),
        ("a <<E <<F\n1\nE\n2\nF\nb", [["a"], ["b"]]), ("a=b c=(d e) f", [["f"]]), ("a \"${b:-'c'}\"", [["a", "$b"]]),
        ("a $'b\\'c' d", [["a", "b\\'c", "d"]]), ("a 'b", [["a", "b"]]), ("a \x0b b", [["a", "\x0b", "b"]]),
    ],
)  # fmt: skip
def test_scripts_are_split_into_commands_and_words(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


def test_here_documents_and_here_strings_are_inputs_of_commands() -> None:
    first, second = read_script('a <<E | b <<< "$c"\nx $d\nE\n').commands
    assert [_shown(each.parts) for each in (*first.inputs, *second.inputs)] == ["x $d\n", "$c"]
    assert second.upstream is first


def test_each_character_has_a_kind() -> None:
    text = "a 'b' \"c $(d)\" # e\nf <<G\nh\nG\ni <<'J'\nk\nJ\n"
    script = read_script(text)
    kinds = {char: script.kind_at(text.index(char)) for char in "abcdefhik"}
    assert kinds == {
        "a": "code", "b": "single", "c": "double", "d": "code", "e": "comment", "f": "code", "h": "heredoc",
        "i": "code", "k": "literal",
    }  # fmt: skip


def test_deeply_nested_scripts_have_no_commands() -> None:
    assert read_script("$(" * (MAX_DEPTH - 1) + "a").commands
    assert read_script("$(" * (MAX_DEPTH + 1) + "a").commands == ()


PIECES: Final = [
    "$(", "`", '"', "'", "${a", "<", "<<a ", "<<a\n", "#", " #", "(", ")", "$((", "((", "1", "$1", "case a in ", "\\",
    "for a in ", "[[ ", ";;", '"$(', '"$(echo)" ', "a=( ", "a", "x=", "a[", "a[x ", "\\\n", "&", "{", "}", "$", "$'",
    "$'\\", "`\\", "\n", "\x0b", "é", "|", "a | ", "sh -c 'a' ", "xargs ", "env ", "eval $a;", "{{ a }}", "<(", "${",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_work_is_proportional_to_the_length(piece: str) -> None:
    small, large = (_lines_run(piece * count) for count in (500, 4000))
    assert large <= 8 * 1.2 * small + 2000


def _lines_run(text: str) -> int:
    """Return how many lines of Python run to read a script."""
    count = 0

    def trace(_frame: object, event: str, _argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        read_script(text)
    finally:
        sys.settrace(before)
    return count


def test_output_of_a_command_is_part_of_a_word() -> None:
    *_, command = read_script('a "x$(b | c)"').commands
    text, output = command.words[1].parts
    assert isinstance(output, Command)
    assert (text, output.words[0].constant) == ("x", "c")


def test_expansions_next_to_each_other_are_not_nested() -> None:
    script = read_script("echo " + "${a:-b} $((c + $d)) " * (MAX_DEPTH + 1))
    assert [each.name for each in script.expansions] == ["a", "d"] * (MAX_DEPTH + 1)
    assert len(script.commands) == 1


def test_arithmetic_contains_expansions_and_commands() -> None:
    script = read_script("echo $((1 + $(b 2) + $c + `d`))")
    assert words("echo $((1 + $(b 2) + $c + `d`))")[:2] == [["b", "2"], ["d"]]
    assert [each.name for each in script.expansions] == ["c"]
