"""``toolc explain``: what a finding means, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from toolc.errors import UsageError

if TYPE_CHECKING:
    from toolc.compiler.rule import Rule

_TITLE: Final = """\
# Checks

What `toolc check` and `toolc build` report, by number. An error keeps specs from being compiled. `toolc explain
TC401` prints one of these pages. This file is generated: `make golden` writes it anew.

```text
{overview}```
"""


@click.command("explain")
@click.argument("number", required=False, metavar="[CODE]")
@click.option("--all", "everything", is_flag=True, help="Print every page, in Markdown.")
def command(number: str | None, everything: bool) -> None:
    """Explain the findings with this CODE, such as TC401: why they matter, with a bad and a good example.

    Without CODE, list every code on one line.
    """
    from toolc.compiler.pages import overview  # start-up time
    from toolc.compiler.rules import RULES

    if everything and number is not None:
        raise UsageError("name a code or ask for --all, not both")
    if everything:
        title = _TITLE.format(overview=overview(RULES.values()))
        print("\n".join([title, *map(_page, RULES.values())]), end="")
    elif number is not None:
        print(_page(_rule(number)), end="")
    else:
        print(overview(RULES.values()), end="")


def _rule(number: str) -> Rule:
    import difflib  # only for a mistyped code

    from toolc.compiler.rules import RULES  # start-up time

    wanted = f"TC{number}" if number.isdecimal() else number.upper()
    if rule := RULES.get(number.upper()):
        return rule
    starting = [each for each in RULES if each.startswith(number.upper())]
    if starting and len(number) > len("TC"):
        raise UsageError(f"{number!r} is the beginning of several codes; explain one of {', '.join(starting)}")
    near = difflib.get_close_matches(wanted, [each for each in RULES if each.startswith(wanted[:3])], n=1)
    hint = f"did you mean {near[0]}?" if near else "see the list: toolc explain"
    raise UsageError(f"there is no code {number!r}; {hint}")


def _page(rule: Rule) -> str:
    from toolc.compiler.examples import compile_example  # start-up time
    from toolc.compiler.pages import page
    from toolc.reporters.text import render

    return page(rule, render(compile_example(rule, rule.bad).diagnostics, color=False))
