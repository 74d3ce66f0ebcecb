"""Words of ``argv`` that only a shell understands."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, found_in

PROGRAMS = "awk cat cut grep head jq less sed sh sort tail tee tr uniq wc xargs"


@pytest.mark.parametrize("program", PROGRAMS.split())
def test_a_pipe_to_a_program_is_an_error(tmp_path: Path, program: str) -> None:
    (found,) = found_in(tmp_path, f"{HEAD}backend: {{shell: {{argv: [ls, '|', {program}]}}}}\n")
    assert found.startswith("4:30 TC108 'argv'[1]: '|' is passed as text: no shell reads argv")


@pytest.mark.parametrize("word", ["&&", "||", "2>&1", ">/dev/null", "2>>/dev/null"])
def test_an_operator_is_an_error(tmp_path: Path, word: str) -> None:
    (found,) = found_in(tmp_path, f"{HEAD}backend: {{shell: {{argv: [ls, '{word}', a]}}}}\n")
    assert f"'{word}' is passed as text: no shell reads argv" in found


@pytest.mark.parametrize("argv", ["[cut, -d, '|', a.txt]", "[grep, '|', a.txt]", "[grep, 'a|b', wc]"])
def test_a_vertical_bar_as_an_argument_is_allowed(tmp_path: Path, argv: str) -> None:
    assert found_in(tmp_path, f"{HEAD}backend: {{shell: {{argv: {argv}}}}}\n") == []
