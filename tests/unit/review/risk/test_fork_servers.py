"""Changes to ``lifetime: fork``: of a step next to a session, and of packages that the server imports."""

from pathlib import Path

import pytest
from reviews.reviewing import PLAIN, change_lines, difference

OTHER = PLAIN.replace("name: look", "name: find").replace("Look a thing up", "Find one thing somewhere")
BOTH = """\
toolc: 1
name: both
label: Both
description: Run one tool after the other. Use it when both results are needed, not for one of them.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend:
  composite:
    strategy: sequential
    steps:
      - {id: one, tool: look, args: {name: "{{ name }}"}}
      - {id: two, tool: find, args: {name: "{{ name }}"}}
"""
SESSION, FORK = "sandbox: {lifetime: session}\n", "sandbox: {lifetime: fork}\n"

PYTHON = """\
toolc: 1
name: plot
label: Plot
description: Plot the numbers of one column. Use it for numbers only, not for text in a column.
parameters:
  column: {type: string, description: "The column, as 'price'", maxLength: 50}
backend:
  python:
    code: |
      def plot(column: str) -> str:
          return column
    requirements: [numpy==2.1.0, pandas==2.2.3]
    preload: [PRELOAD]
"""

MESSAGE = "RSK21 high: the fork server may run the code of packages with its capabilities: "


def risks(folder: Path, before: dict[str, str], after: dict[str, str]) -> dict[str, list[str]]:
    return {
        tool.name: [line for line in change_lines(tool.changes) if line.startswith("RSK21")]
        for tool in difference(folder, before, after).tools
    }


def test_a_session_of_one_step_does_not_hide_the_fork_server_of_another(tmp_path: Path) -> None:
    same = {"both.yaml": BOTH, "look.yaml": PLAIN + SESSION}
    found = risks(tmp_path, same | {"find.yaml": OTHER}, same | {"find.yaml": OTHER + FORK})
    assert found["both"] == ["RSK21 medium: calls are processes of one fork server and share its limits (by two)"]


def test_a_step_that_had_a_session_is_not_reported(tmp_path: Path) -> None:
    same = {"both.yaml": BOTH, "find.yaml": OTHER}
    found = risks(tmp_path, same | {"look.yaml": PLAIN + SESSION}, same | {"look.yaml": PLAIN + FORK})
    assert found["both"] == []


@pytest.mark.parametrize(
    ("before", "after", "packages"),
    [
        (("re", FORK), ("re, numpy.linalg", FORK), "numpy.linalg"),
        (("numpy", FORK), ("numpy, pandas", FORK), "pandas"),
        (("numpy, pandas", FORK), ("numpy", FORK), ""),
        (("re", FORK), ("re, json", FORK), ""),
        (("numpy", ""), ("numpy, pandas", ""), ""),
        (("numpy", SESSION), ("numpy", FORK), "numpy"),
    ],
)
def test_packages_that_the_server_imports_are_a_high_risk(
    tmp_path: Path, before: tuple[str, str], after: tuple[str, str], packages: str
) -> None:
    old, new = (PYTHON.replace("PRELOAD", preload) + sandbox for preload, sandbox in (before, after))
    found = risks(tmp_path, {"plot.yaml": old}, {"plot.yaml": new})
    assert found["plot"] == ([MESSAGE + packages] if packages else [])


def test_packages_of_a_changed_lifetime_are_reported_next_to_it(tmp_path: Path) -> None:
    old, new = (PYTHON.replace("PRELOAD", "numpy") + sandbox for sandbox in ("", FORK))
    assert risks(tmp_path, {"plot.yaml": old}, {"plot.yaml": new})["plot"] == [
        "RSK21 medium: calls are processes of one fork server and share its limits",
        MESSAGE + "numpy",
    ]
