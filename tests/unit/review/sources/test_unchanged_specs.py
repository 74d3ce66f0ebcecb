"""Only changed specs are compiled, with the same result as compiling everything."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from repositories import Repository
from reviewing import PLAIN, change_lines

from toolc.compiler.cache import file
from toolc.review.compare import compare
from toolc.review.sources import repository as sources_repository
from toolc.review.sources.states import state_of, two_states
from toolc.review.sources.unchanged_specs import needs_full_parse, of_commit, of_working_tree, select_changed

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
    message = ("lamp", "door", "roof", "wall", "lock", "rope", "nail", "bolt")
    return text.replace("name: look", f"name: look_{number}").replace(
        "Look a thing up", f"Look a {message[number % 8]} up"
    )


@pytest.fixture
def repository(repository: Repository) -> Repository:
    repository.commit(
        {f"specs/{n}.yaml": named(n) for n in range(6)}
        | {"specs/deep/6.yaml": named(6, CODE), "specs/deep/lib/look.py": "def look_6(name):\n    return name\n"}
        | {"toolc.yaml": "vars: {a: b}\n"}
    )
    return repository


def chosen(repository: Repository, base: str = "HEAD") -> list[str] | None:
    """Return the files that are compiled to compare a commit with the working tree; None for all."""
    commit = repository_of(repository).commit(base)
    assert commit is not None
    found = select_changed(
        of_commit(commit, [""]), of_working_tree(repository_of(repository), [""], "sha1"), Path(), {}
    )
    return None if found is None else sorted(found.paths)


def repository_of(repository: Repository) -> sources_repository.Repository:
    found = sources_repository.Repository.of(repository.top)
    assert found is not None
    return found


def test_unchanged_specs_without_files_are_not_compiled(repository: Repository) -> None:
    assert chosen(repository) == ["specs/deep/6.yaml"]
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    assert chosen(repository) == ["specs/2.yaml", "specs/deep/6.yaml"]


def test_ambiguous_texts_compile_everything(repository: Repository) -> None:
    repository.write({"toolc.yaml": "vars: {a: c}\n"})
    assert chosen(repository) is None
    repository.commit({"specs/both.yaml": COMPOSITE})
    assert chosen(repository) is None
    repository.git("rm", "--quiet", "specs/both.yaml")
    repository.commit({"toolc.yaml": "toolsets: {all: [look_1]}\n"})
    assert chosen(repository) is None


@pytest.mark.slow
def test_result_equals_that_of_compiling_everything(repository: Repository) -> None:
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
            repository.write({"specs/deep/lib/look.py": f"def look_6(name):\n    return {choices.random()}\n"})
        with two_states("HEAD", None, [Path()]) as (old, new):
            some = [(tool.name, change_lines(tool.changes)) for tool in compare(old, new).tools]
            assert len(new.tools) < 6
        with state_of("HEAD", [Path()]) as old, state_of(None, [Path()]) as new:
            everything = [(tool.name, change_lines(tool.changes)) for tool in compare(old, new).tools]
        assert some == everything
        if choices.random() < 0.5:
            repository.commit({})


def test_unchanged_broken_spec_of_the_head_is_reported(repository: Repository) -> None:
    broken = named(7) + "nonsense: 1\n"
    repository.commit({"specs/7.yaml": broken})
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    for _ in range(2):  # what is wrong stays unproved
        assert errors_of_head() == [("specs/7.yaml:10:1", "TC101")]
    repository.write({"specs/7.yaml": named(7)})
    assert errors_of_head() == []
    repository.write({"specs/7.yaml": broken})
    assert errors_of_head() == [("specs/7.yaml:10:1", "TC101")]


def test_known_specs_are_not_compiled_again(repository: Repository) -> None:
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    everything = {f"specs/{n}.yaml" for n in range(6)} | {"specs/deep/6.yaml"}
    assert compiled_of_head() == everything
    assert compiled_of_head() == {"specs/2.yaml", "specs/deep/6.yaml"}  # one changed, one speaks of a file
    repository.commit({"specs/3.yaml": named(3).replace("echo", "cat")})
    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):  # the commit holds the edit of 2.yaml too
        assert {*new.compiled} == {"specs/2.yaml", "specs/3.yaml", "specs/deep/6.yaml"}
        assert (sorted(old.tools), sorted(new.tools)) == (["look_2", "look_3", "look_6"],) * 2


def test_changed_project_file_invalidates_the_cache(repository: Repository) -> None:
    compiled_of_head()
    repository.commit({"toolc.yaml": "vars: {a: c}\n"})
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    assert len(compiled_of_head()) == 7


@pytest.mark.parametrize("spoil", ["", "{", "[]", '{"specs/1.yaml": 1}', '{"specs/1.yaml": [[], 1, 2]}'])
def test_invalid_cache_file_is_ignored(
    repository: Repository, spoil: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled_of_head()
    (kept,) = (tmp_path / "cache/toolc").glob("check-*")
    digests = [file.digest(text) for text in (spoil, "")]
    kept.write_text(f"{' '.join(digests)}\n{spoil}\n", encoding="utf-8")
    repository.write({"specs/2.yaml": named(2).replace("echo", "cat")})
    assert "specs/3.yaml" in compiled_of_head()


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("fresh", [named(1).replace("Look", "Cut"), named(9) + "aliases: [look_1]\n"])
def test_name_conflict_with_an_unchanged_spec(repository: Repository, fresh: str, is_committed: bool) -> None:
    compiled_of_head()
    repository.write({"specs/9.yaml": fresh})
    if is_committed:
        repository.commit({})
    base, head = ("HEAD~1", "HEAD") if is_committed else ("HEAD", None)
    with two_states(base, head, [Path()]) as (_, new):
        assert [each.code.number for each in new.diagnostics.sorted() if each.is_error] == ["TC203"]


def test_paths_are_compared_separately(repository: Repository) -> None:
    repository.commit({"more/a.yaml": named(8), "same/b.yaml": named(9)})
    repository.write({"more/a.yaml": named(8).replace("echo", "cat")})
    for paths in (["same", "more"], ["more", "same"]):
        compiled_of_head(paths)
        with two_states("HEAD", None, [Path(each) for each in paths]) as (old, new):
            assert [tool.name for tool in compare(old, new).tools] == ["look_8"]


def errors_of_head() -> list[tuple[str, str]]:
    with two_states("HEAD", None, [Path()]) as (_, new):
        found = [each for each in new.diagnostics.sorted() if each.is_error]
    return [(str(each.span).partition("-")[0], each.code.number) for each in found]


def compiled_of_head(paths: Sequence[str] = (".",)) -> set[str]:
    with two_states("HEAD", None, [Path(each) for each in paths]) as (_, new):
        assert not new.diagnostics.has_errors
        return {*new.compiled}


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


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_changed_file_is_detected_in_any_syntax(repository: Repository, spelling: str) -> None:
    anchors = "owner: &key file\ntags: [&place lib/look.py]\nversion: '1'\n"
    text = anchors * ("*" in spelling) + named(7, PLAIN).replace('shell:\n    argv: [echo, --, "{{ name }}"]', spelling)
    repository.commit({"specs/deep/7.yaml": text})
    repository.write(
        {"specs/deep/lib/look.py": "def look_7(name):\n    return name\n\n\ndef look_6(name):\n    pass\n"}
    )
    assert found_both_ways() == found_of_all()


def test_changed_file_of_the_project_is_detected(repository: Repository) -> None:
    repository.commit({"toolc.yaml": "defaults: {backend: {python: {file: one.py, function: look}}}\n"})
    bare = "\n".join(PLAIN.replace("name: look", "name: bare").splitlines()[:6]) + "\n"
    repository.commit({"specs/bare.yaml": bare, "specs/one.py": "def look(name):\n    return name\n"})
    repository.write({"specs/one.py": "def look(name):\n    return open(name).read()\n"})
    assert "RSK07 high: the program one.py changed" in dict(found_both_ways())["bare"]


def test_name_in_braces(repository: Repository) -> None:
    json = """\
{"toolc": 1, "name": "put_away", "label": "Put", "description": "Put one thing away, by its name, for good.",
 "backend": {"shell": {"argv": ["true"]}}}
"""
    repository.commit({"specs/json.yaml": json})
    repository.write({"specs/2.yaml": named(2).replace("not for", "first put_away, not for")})
    (reported,) = found_both_ways()
    assert reported == (
        "look_2",
        ["RSK10 high: the text for the model changed at description, and now names the tool put_away"],
    )


def found_both_ways() -> list[tuple[str, list[str]]]:
    with two_states("HEAD", None, [Path()]) as (old, new):
        return [(tool.name, change_lines(tool.changes)) for tool in compare(old, new).tools]


def found_of_all() -> list[tuple[str, list[str]]]:
    with state_of("HEAD", [Path()]) as old, state_of(None, [Path()]) as new:
        return [(tool.name, change_lines(tool.changes)) for tool in compare(old, new).tools]


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
def test_common_syntax_needs_no_full_parse(repository: Repository, text: str) -> None:
    repository.commit({"specs/a.toml" if "toolc = 1" in text else "specs/a.yaml": text})
    assert chosen(repository) == ["specs/deep/6.yaml"]


ODD = {
    "a colon in the next line": b'{"file"\n  :"lib/look.py"}',
    "a colon in the next line, after a comment": b'{"name" # so\n\n  :"look"}',
    "a value that begins its line": b"? x\n: y",
    "a colon at the very beginning": b": y",
    "an anchor at the very beginning": b"&a file: x",
    "another end of lines": b"a: b\rc: d",
    "an end of lines of Unicode": "a: b\u2028c".encode(),
    "UTF-16": "a: b".encode("utf-16"),
    "UTF-16 without its mark": "a: b".encode("utf-16-le"),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_unusual_syntax_needs_a_full_parse(text: bytes) -> None:
    assert needs_full_parse(text)


@pytest.mark.parametrize("text", ["a: b # \u00e9", "a:\r\n  b: [c, d]\r\n", "rename: |\n  x"])
def test_supported_syntax_needs_no_full_parse(text: str) -> None:
    assert not needs_full_parse(text.encode())
