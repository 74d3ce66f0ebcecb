"""A Python file that differs in comments and layout only is a low change, if that can be found out quickly (RSK07)."""

from pathlib import Path

import pytest
from reviews.reviewing import change_lines, difference

SPEC = "toolc: 1\nname: look\ndescription: Look at the moon.\nbackend: {python: {file: look.py}}\n"
PROGRAM = "def look() -> str:\n    return 'full'\n"
LONG = "#" * (200_001 - len(f"# New.\n\n{PROGRAM}")) + "\n"
"""With a new first line, the shortest file that is not compared."""

SLOW = 'X = f"' + "{0}" * 6_000 + '"\n'


def message(folder: Path, before: str, after: str) -> str:
    states = ({"look.yaml": SPEC, "look.py": top + PROGRAM} for top in (before, after))
    (tool,) = difference(folder, *states).tools
    (line,) = (each for each in change_lines(tool.changes) if each.startswith("RSK07"))
    return line


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("# Old.\n", "# New.\n\n", "RSK07 low: the program look.py changed only in comments and layout"),
        ("X = 1\n", "X = 2\n", "RSK07 high: the program look.py changed"),
        (LONG, f"# New.\n{LONG}", "RSK07 high: the program look.py changed"),
        (SLOW, f"# New.\n{SLOW}", "RSK07 high: the program look.py changed"),
    ],
    ids=["comment", "code", "long", "slow"],
)
def test_what_changed_in_a_python_file(before: str, after: str, found: str, tmp_path: Path) -> None:
    assert message(tmp_path, before, after) == found
