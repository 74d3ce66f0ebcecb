"""``toolc explain``: print the page of a finding."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.model.errors import UsageError
from toolc.model.names import close_match

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.data.rule_pages import PageCode, RulePage


_TITLE: Final = """\
# Checks

The codes that `toolc check`, `toolc build` (TC) and `toolc diff` (CON, RSK, SUR, PRV) report. Specs with errors do not
compile. `toolc explain TC401` prints one of these pages. `make golden` generates this file from `toolc/data/rules`.

```text
{overview}```
"""


@click.command("explain")
@click.argument("number", required=False, metavar="[CODE]")
@click.option("--all", "everything", is_flag=True, help="Print every page, in Markdown.")
def command(number: str | None, everything: bool) -> None:
    """Explain the findings with this CODE, such as TC401 or RSK01, with examples.

    Without CODE, list every code on one line.
    """
    from toolc.data.rule_pages import rule_pages  # start-up time

    if everything and number is not None:
        raise UsageError("pass either a code or --all, not both")
    if everything:
        title = _TITLE.format(overview=_overview())
        print("\n".join([title, *map(render_page, rule_pages().values())]), end="")
    elif number is not None:
        print(render_page(_find_page(number)), end="")
    else:
        print(_overview(), end="")


def _find_page(number: str) -> RulePage:
    from toolc.data.rule_pages import rule_pages

    code = f"TC{number}" if number.isdecimal() else number.upper()
    if page := rule_pages().get(number.upper()):
        return page
    starting = [each for each in rule_pages() if each.startswith(number.upper())]
    if starting and len(number) > len("TC"):
        raise UsageError(f"{number!r} is the start of several codes; choose one of: {', '.join(starting)}")
    near = close_match(code, [each for each in rule_pages() if each.startswith(code[:3])])
    hint = f"did you mean {near}?" if near else "list all codes with: toolc explain"
    raise UsageError(f"there is no code {number!r}; {hint}")


def _overview() -> str:
    """Return one line for each code, with its number, its severity, whether it is on by default, and its name."""
    from toolc.data.rule_pages import rule_pages

    lines = [
        f"{page.number:<6}  {code.severity:<10}  {'on ' if code.enabled else 'off'}  {code.name}"
        for page in rule_pages().values()
        for code in page.codes
    ]
    return "\n".join(lines) + "\n"


def render_page(page: RulePage) -> str:
    """Return a page in Markdown. The page of a check has the findings of its bad example."""
    codes = [f"- {code.name} ({_status(page, code)})" for code in page.codes]
    parts = [
        f"## {page.number}: {page.title}",
        "\n".join(codes) if len(codes) > 1 else f"{_status(page, page.codes[0]).capitalize()}.",
        page.explanation.strip(),
        *_render_examples(page),
    ]
    return "\n\n".join(parts) + "\n"


def _status(page: RulePage, code: PageCode) -> str:
    severity = code.severity if page.number.startswith("TC") else f"severity: at most {code.severity}"
    return severity if code.enabled else f"{severity}, off by default"


def _render_examples(page: RulePage) -> list[str]:
    from toolc.data.rule_pages import EXAMPLE

    if page.bad:
        from toolc.reporters.text import render

        findings = render(compile_example(page, page.bad).diagnostics, color=False)
        files = [f"With the file `{name}`:\n\n{_block(text)}" for name, text in sorted(page.extra_files.items())]
        return [
            f"This `{EXAMPLE}` has a finding:\n\n{_block(page.bad, 'yaml')}",
            *files,
            _block(findings, "text"),
            f"Corrected:\n\n{_block(page.good, 'yaml')}",
        ]
    if page.before:
        return [f"Before:\n\n{_block(page.before, 'yaml')}", f"After:\n\n{_block(page.after, 'yaml')}"]
    return []


def compile_example(page: RulePage, text: str) -> Compilation:
    """Compile ``text``, one of the examples of ``page``, in a temporary folder.

    The compilation runs in that folder, so that findings contain only the name of the file. Findings with the number
    of the page are included even if they are off by default.
    """
    from toolc.compiler.pipeline.compile import compile_specs  # start-up time
    from toolc.compiler.project.settings import Settings
    from toolc.data.rule_pages import EXAMPLE
    from toolc.model.diagnostics import Severity

    with tempfile.TemporaryDirectory(prefix="toolc-example-") as folder, contextlib.chdir(folder):
        # This makes it the root of a repository, so that no project file of an outer folder applies.
        Path(".git").mkdir()
        for name, content in {**page.extra_files, EXAMPLE: text}.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return compile_specs([Path()], Settings(severity={page.number: Severity.WARNING}))


def _block(text: str, language: str = "") -> str:
    # An example can contain bytes that are not UTF-8, and characters that control a terminal.
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in decoded)
    return f"```{language}\n{shown.rstrip()}\n```"
