"""Only what may differ is compiled, and that finds what compiling everything finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from repositories import Repository
from reviewing import PLAIN, told

from toolc.review import git
from toolc.review.compare import compare
from toolc.review.narrowing import narrowed, of_commit, of_working_tree
from toolc.review.states import state_of, two_states

CODE = PLAIN.replace('  shell:\n    argv: [echo, --, "{{ name }}"]', "  python: {file: lib/look.py}")
COMPOSITE = """\
toolc: 1
name: both
label: Both
description: Look two things up, one after the other, by their names. Use it for pairs of things.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend:
  composite:
    strategy: sequential
    steps: [{id: one, tool: look_1, args: {name: "{{ name }}"}}]
"""


def named(number: int, text: str = PLAIN) -> str:
    words = ("lamp", "door", "roof", "wall", "lock", "rope", "nail", "bolt")
    return text.replace("name: look", f"name: look_{number}").replace(
        "Look a thing up", f"Look a {words[number % 8]} up"
    )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(made.top)
    made.commit(
        {f"specs/{n}.yaml": named(n) for n in range(6)}
        | {"specs/deep/6.yaml": named(6, CODE), "specs/deep/lib/look.py": "def look(name):\n    return name\n"}
        | {"toolc.yaml": "vars: {a: b}\n"}
    )
    return made


def chosen(repository: Repository, base: str = "HEAD") -> list[str] | None:
    """The files that are compiled to compare a commit with the working tree; None for all."""
    commit = repository_of(repository).commit(base)
    assert commit is not None
    found = narrowed(of_commit(commit, [""]), of_working_tree(repository_of(repository), [""]), Path())
    return None if found is None else sorted(found.paths)


def repository_of(repository: Repository) -> git.Repository:
    found = git.Repository.of(repository.top)
    assert found is not None
    return found


def test_a_spec_that_did_not_change_is_not_compiled_unless_it_speaks_of_files(repository: Repository) -> None:
    assert chosen(repository) == ["specs/deep/6.yaml"]
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    assert chosen(repository) == ["specs/2.yaml", "specs/deep/6.yaml"]


def test_all_are_where_texts_alone_do_not_tell(repository: Repository) -> None:
    repository.write({"toolc.yaml": "vars: {a: c}\n"})
    assert chosen(repository) is None
    repository.commit({"specs/both.yaml": COMPOSITE})
    assert chosen(repository) is None
    repository.git("rm", "--quiet", "specs/both.yaml")
    repository.commit({"toolc.yaml": "toolsets: {all: [look_1]}\n"})
    assert chosen(repository) is None


def test_what_is_found_is_what_compiling_everything_finds(repository: Repository) -> None:
    choices = random.Random(1)
    edits = (
        lambda text: text.replace("echo", "cat"),
        lambda text: text + "sandbox: {workspace: rw}\n",
        lambda text: text.replace("maxLength: 50", "maxLength: 5"),
        lambda text: text.replace("not for their numbers", "never look_3, see https://x.example.com"),
        lambda text: "# only a comment\n" + text,
    )
    for _ in range(12):
        for number in choices.sample(range(6), 2):
            path = repository.top / f"specs/{number}.yaml"
            if not path.exists():
                path.write_text(named(number), encoding="utf-8")
            elif choices.random() < 0.2:
                path.unlink()
            else:
                path.write_text(choices.choice(edits)(named(number)), encoding="utf-8")
        if choices.random() < 0.3:
            repository.write({"specs/deep/lib/look.py": f"def look(name):\n    return {choices.random()}\n"})
        with two_states("HEAD", None, [Path()]) as (old, new):
            some = [(tool.name, told(tool.changes)) for tool in compare(old, new).tools]
            assert len(new.tools) < 5
        with state_of("HEAD", [Path()]) as old, state_of(None, [Path()]) as new:
            everything = [(tool.name, told(tool.changes)) for tool in compare(old, new).tools]
        assert some == everything
        if choices.random() < 0.5:
            repository.commit({})


SPELLINGS = {
    "plain": "python: {file: lib/look.py}",
    "a blank before the colon": "python: {file : lib/look.py}",
    "in quotes": "'python': {\"file\": 'lib/look.py'}",
    "as JSON": '"python":{"file":"lib/look.py"}',
    "a letter as a number": 'python: {"fi\\x6ce": lib/look.py}',
    "a letter as a longer number": 'python: {"fil\\u0065": lib/look.py}',
    "a question mark": "python:\n    ? file\n    : lib/look.py",
    "a question mark in braces": "python: {? file : lib/look.py}",
    "the colon in the next line": 'python: {"file"\n      : lib/look.py}',
    "the colon further down": 'python: {"file" # so\n\n      :"lib/look.py"}',
    "the key is an alias": "python: {*key : lib/look.py}",
    "the key has an anchor": "python: {&key file: lib/look.py}",
    "the key has a tag": "python: {!!str file: lib/look.py}",
    "the value is an alias": "python: {file: *place}",
    "the map is an alias": "python: *all",
    "merged": "python: {<<: *all}",
    "several files": "python: {file: lib/look.py, files: ['lib/*.py']}",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_file_that_changes_is_seen_however_a_spec_names_it(repository: Repository, spelling: str) -> None:
    anchors = "owner: &key file\ntags: [&place lib/look.py]\nversion: '1'\n"
    text = anchors * ("*" in spelling) + named(7, PLAIN).replace(
        'shell:\n    argv: [echo, --, "{{ name }}"]', spelling
    )
    repository.commit({"specs/deep/7.yaml": text})
    repository.write(
        {"specs/deep/lib/look.py": "def look_7(name):\n    return name\n\n\ndef look_6(name):\n    pass\n"}
    )
    assert found_both_ways() == found_of_all()


def test_a_file_that_the_project_names_for_all_is_seen(repository: Repository) -> None:
    repository.commit({"toolc.yaml": "defaults: {backend: {python: {file: one.py, function: look}}}\n"})
    bare = "\n".join(PLAIN.replace("name: look", "name: bare").splitlines()[:6]) + "\n"
    repository.commit({"specs/bare.yaml": bare, "specs/one.py": "def look(name):\n    return name\n"})
    repository.write({"specs/one.py": "def look(name):\n    return open(name).read()\n"})
    assert "RSK07 high: the program one.py is another" in dict(found_both_ways())["bare"]


def test_a_name_that_stands_in_braces_is_known(repository: Repository) -> None:
    json = """\
{"toolc": 1, "name": "put_away", "label": "Put", "description": "Put one thing away, by its name, for good.",
 "backend": {"shell": {"argv": ["true"]}}}
"""
    repository.commit({"specs/json.yaml": json})
    repository.write({"specs/2.yaml": named(2).replace("not for", "first put_away, not for")})
    (told_of,) = found_both_ways()
    assert told_of == (
        "look_2",
        ["RSK10 high: the model reads other words at description, which name the tool put_away"],
    )


def found_both_ways() -> list[tuple[str, list[str]]]:
    with two_states("HEAD", None, [Path()]) as (old, new):
        return [(tool.name, told(tool.changes)) for tool in compare(old, new).tools]


def found_of_all() -> list[tuple[str, list[str]]]:
    with state_of("HEAD", [Path()]) as old, state_of(None, [Path()]) as new:
        return [(tool.name, told(tool.changes)) for tool in compare(old, new).tools]


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace('  name: {type: string, description: "The', '  name:\n    {type: string, description: "The'),
        'toolc = 1\ndescription = """\\\n  Look a thing up.\\\n  """\n',
        PLAIN.replace("[echo,", "[sqlite3, 'insert into t values (?, ?)',"),
    ],
    ids=["plain", "a parameter called name", "lines of TOML that go on", "SQL"],
)
def test_what_people_write_every_day_is_not_taken_for_odd(repository: Repository, text: str) -> None:
    repository.commit({"specs/a.toml" if "toolc = 1" in text else "specs/a.yaml": text})
    assert chosen(repository) == ["specs/deep/6.yaml"]
