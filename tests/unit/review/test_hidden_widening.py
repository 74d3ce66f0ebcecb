"""Pull requests that hide a new permission: every way to add one is reported.

Each case is two commits, compared as ``toolc diff`` does and with every spec compiled, with the same result.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from repositories import Repository
from reviewing import PLAIN

from toolc.review.compare import Difference, compare
from toolc.review.model.state import State
from toolc.review.sources.states import state_of, two_states

SHELL: Final = 'shell:\n    argv: [echo, --, "{{ name }}"]'
NET: Final = "sandbox: {network: {allow: [a.example.com:443]}}\n"
POLICY: Final = "policy: {backends: [shell]}\n"
IGNORING: Final = "# toolc: ignore[TC406] it is used elsewhere\nlabel:"
STRICT: Final = "lint: {severity: {TC501: error}}\n"
PYTHON: Final = PLAIN.replace(SHELL, "python: {file: look.py, files: ['lib/*.py']}")
PLUGIN: Final = PLAIN.replace(SHELL, "plugin: {command: [plug], files: [plug.py]}")
CODE: Final = "def look(name):\n    return name\n"
TOML: Final = """\
toolc = 1
name = "look"
label = "Look"
description = "Look a thing up by its name. Use it for names of things, not for their numbers."
[parameters]
name = {type = "string", description = "The name of the thing, as 'lamp'", maxLength = 50}
[backend.shell]
argv = ["echo", "--", "{{ name }}"]
[sandbox]
workspace = "rw"
"""
AGENT: Final = """\
toolc: 1
name: ask
label: Ask
description: Answer the question about things in one sentence. Use it for questions about names.
parameters:
  question: {type: string, description: "The question, as 'what is a lamp'", maxLength: 50}
backend:
  agent: {provider: openai, model: m-1, api_key: "{{ secrets.KEY }}", instructions: Do it., tools: [look]}
sandbox: {secrets: {KEY: {hosts: [api.openai.com]}}}
"""


def other(name: str) -> str:
    """Return the spec of another tool."""
    return PLAIN.replace("name: look", f"name: {name}").replace("Look a thing up", f"Find the {name} in the store")


SHOWN: Final[dict[str, tuple[dict[str, str], dict[str, str], list[str]]]] = {
    "a host whose name only looks like another": (
        {"a.yaml": PLAIN + NET}, {"a.yaml": PLAIN + NET.replace("a.example", "xn--80ak6aa92e.example")},
        ["look: RSK01 high"],
    ),
    "a letter of another alphabet": (
        {"a.yaml": PLAIN}, {"a.yaml": PLAIN.replace("label: Look", "label: L\u043eok")}, ["look: RSK10 medium"],
    ),
    "letters composed in another way": (
        {"a.yaml": PLAIN.replace("label: Look", "label: Caf\u00e9")},
        {"a.yaml": PLAIN.replace("label: Look", "label: Cafe\u0301")}, ["look: RSK10 medium"],
    ),
    "a variable of the project": (
        {"a.yaml": PLAIN.replace("[echo", "['{{ vars.c }}'"), "toolc.yaml": "vars: {c: echo}\n"},
        {"a.yaml": PLAIN.replace("[echo", "['{{ vars.c }}'"), "toolc.yaml": "vars: {c: sh}\n"},
        ["look: RSK07 high"],
    ),
    "a value by an anchor": (
        {"a.yaml": PLAIN.replace("[echo, --", "[&c echo, --") + "owner: *c\n"},
        {"a.yaml": PLAIN.replace("[echo, --", "[&c sh, --") + "owner: *c\n"},
        ["look: RSK07 high"],
    ),
    "a project file that comes between": (
        {"s/a.yaml": PLAIN, "toolc.yaml": "defaults: {sandbox: {run_as: nonroot}}\n"},
        {"s/toolc.yaml": "vars: {a: b}\n"}, ["look: RSK04 critical"],
    ),
    "lint settings that a project file between takes away": (
        {"s/a.yaml": PLAIN, "b.yaml": other("put"), "toolc.yaml": STRICT}, {"s/toolc.yaml": "vars: {a: b}\n"},
        ["all: RSK12 high"],
    ),
    "the same project in TOML, and more": (
        {"a.yaml": PLAIN, "toolc.yaml": "defaults: {sandbox: {run_as: nonroot}}\n"},
        {"toolc.yaml": "", "toolc.toml": "[defaults.sandbox]\nrun_as = 'nonroot'\nworkspace = 'rw'\n"},
        ["look: RSK02 critical"],
    ),
    "a project file that becomes a link": (
        {"a.yaml": PLAIN, "toolc.yaml": "defaults: {sandbox: {run_as: nonroot}}\n"},
        {"toolc.yaml": "-> t.txt", "t.txt": "defaults: {sandbox: {run_as: nonroot}}\n"}, ["look: RSK04 critical"],
    ),
    "a folder that becomes a link": (
        {"a.yaml": PYTHON, "look.py": CODE, "lib/x.py": "A = 1\n", "lib2/x.py": "A = 2\n"},
        {"lib/x.py": "", "lib": "-> lib2"}, ["look: RSK07 high"],
    ),
    "another language, and more": ({"a.yaml": PLAIN}, {"a.yaml": "", "a.toml": TOML}, ["look: RSK02 critical"]),
    "attributes that hide a file from git diff": (
        {"a.yaml": PLAIN}, {"a.yaml": PLAIN + NET, ".gitattributes": "*.yaml -diff export-ignore filter=x\n"},
        ["look: RSK01 high"],
    ),
    "a program of a plugin": (
        {"a.yaml": PLUGIN, "plug.py": "x = 1\n"}, {"plug.py": "x = 2\n"}, ["look: RSK07 high"],
    ),
    "one more tool of a sub-agent": (
        {"a.yaml": PLAIN, "b.yaml": other("put"), "c.yaml": AGENT},
        {"c.yaml": AGENT.replace("[look]", "[look, put]")}, ["ask: RSK07 high"],
    ),
    "other instructions of a sub-agent": (
        {"a.yaml": PLAIN, "c.yaml": AGENT}, {"c.yaml": AGENT.replace("Do it.", "Do as you please.")},
        ["ask: RSK07 high"],
    ),
    "a comment that moves to another tool": (
        {"a.yaml": PLAIN.replace("label:", IGNORING), "b.yaml": other("put")},
        {"a.yaml": PLAIN, "b.yaml": other("put").replace("label:", IGNORING)}, ["all: RSK12 high"],
    ),
    "a tag by which it was denied": (
        {"a.yaml": PLAIN + "tags: [danger, web]\n"}, {"a.yaml": PLAIN + "tags: [web]\n"}, ["look: RSK12 high"],
    ),
    "a tag that only looks the same": (
        {"a.yaml": PLAIN + "tags: [danger]\n"}, {"a.yaml": PLAIN + "tags: [d\u0430nger]\n"},
        ["look: RSK12 high", "look: RSK12 low"],
    ),
    "a policy that goes with the name of the only tool": (
        {"a.yaml": PLAIN, "toolc.yaml": POLICY}, {"a.yaml": other("put"), "toolc.yaml": ""},
        ["all: RSK12 high", "put: CON302 breaking", "put: RSK10 medium"],
    ),
    "a policy under which another tool comes": (
        {"s/a.yaml": PLAIN, "s/toolc.yaml": POLICY},
        {"s/a.yaml": "", "s/toolc.yaml": "", "s/b.yaml": other("put").replace("echo", "cat")},
        ["all: RSK12 high", "look: CON301 breaking", "put: CON312 compatible"],
    ),
    "a spec that leaves the folder of a policy": (
        {"s/a.yaml": PLAIN, "s/toolc.yaml": POLICY}, {"s/a.yaml": "", "t/a.yaml": PLAIN}, ["all: RSK12 high"],
    ),
    "a spec that nobody looks at any more": (
        {"a.yaml": PLAIN, "b.yaml": other("put")}, {"toolc.yaml": "exclude: [b.yaml]\n"},
        ["all: RSK12 high", "put: CON301 breaking"],
    ),
}  # fmt: skip

NOT_SHOWN: Final[dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "a byte order mark": ({"a.yaml": PLAIN}, {"a.yaml": f"\ufeff{PLAIN}"}),
    "the letter case of a host": ({"a.yaml": PLAIN + NET}, {"a.yaml": PLAIN + NET.replace("a.exa", "A.eXa")}),
    "a link to a spec, which is none": ({"a.yaml": PLAIN, "b.txt": other("put")}, {"b.yaml": "-> b.txt"}),
    "a hidden spec, which is none": ({"a.yaml": PLAIN}, {".b.yaml": other("put")}),
    "a folder that goes with its policy": (
        {"a.yaml": PLAIN, "s/b.txt": "x\n", "s/toolc.yaml": POLICY},
        {"s/b.txt": "", "s/toolc.yaml": ""},
    ),
    "a comment that moves with its file": (
        {"a.yaml": PLAIN.replace("label:", IGNORING)},
        {"a.yaml": "", "b.yaml": PLAIN.replace("label:", IGNORING)},
    ),
    "the order of tags": ({"a.yaml": PLAIN + "tags: [x, y]\n"}, {"a.yaml": PLAIN + "tags: [y, x]\n"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("base", "edits", "expected"), SHOWN.values(), ids=SHOWN)
def test_hidden_widening_is_reported(
    repository: Repository, base: dict[str, str], edits: dict[str, str], expected: list[str]
) -> None:
    assert both_ways(repository, base, edits) == expected


@pytest.mark.parametrize(("base", "edits"), NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_changes_without_effect_are_not_reported(
    repository: Repository, base: dict[str, str], edits: dict[str, str]
) -> None:
    assert both_ways(repository, base, edits) == []


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    done = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(done.top)
    return done


def both_ways(repository: Repository, base: Mapping[str, str], edits: Mapping[str, str]) -> list[str]:
    """Return the changes with only changed specs compiled, and check that compiling all gives the same."""
    repository.commit(base)
    for path, text in edits.items():
        edit(repository.top / path, text)
    repository.commit({})
    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):
        narrow = lines(old, new)
    with state_of("HEAD~1", [Path()]) as old, state_of("HEAD", [Path()]) as new:
        assert narrow == lines(old, new)
    return narrow


def edit(place: Path, text: str) -> None:
    """Write a file; ``-> TARGET`` creates a link, and an empty text removes the file."""
    if place.is_file() or place.is_symlink():
        place.unlink()
    if text.startswith("-> "):
        if place.is_dir():
            place.rmdir()
        place.symlink_to(text.removeprefix("-> "))
    elif text:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def lines(old: State, new: State) -> list[str]:
    """Return each change as its tool, rule and grade."""
    for state in (old, new):
        assert not state.diagnostics.has_errors, [str(each) for each in state.diagnostics.sorted()]
    found: Difference = compare(old, new)
    return [f"{name or 'all'}: {each.rule} {each.grade}" for name, each in found.changes]
