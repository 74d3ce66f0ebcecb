"""Reports of a difference as text, Markdown and JSON, with text from specs escaped."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from jsonschema import Draft4Validator
from project import paths
from reviews.reviewing import PLAIN, difference

from toolc.review.compare import Difference
from toolc.review.model.change import fingerprint
from toolc.review.reports import diff_text, machine, markdown
from toolc.review.summary import summary

SCRIPT = PLAIN.replace('argv: [echo, --, "{{ name }}"]', "script: |\n      set -eu\n      echo one\n      echo two")
GOLDEN = paths.GOLDEN / "review"
HOSTILE = "@everyone <img src=x onerror=1> ![x](http://evil.example/x) ```</details> [a](b) | b \\u202e#1"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Difference:
    monkeypatch.chdir(tmp_path)
    old = {"a.yaml": PLAIN, "b.yaml": SCRIPT.replace("name: look", "name: run_it")}
    new = {
        "a.yaml": f"{PLAIN.replace('50', '20')}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n",
        "b.yaml": SCRIPT.replace("name: look", "name: run_it").replace("echo two", "echo three"),
        "c.yaml": PLAIN.replace("name: look", "name: put").replace("Look a thing up", "Put one thing down there"),
    }  # fmt: skip
    return difference(tmp_path, old, new)


@pytest.mark.parametrize("name", ["text", "markdown", "github"])
def test_golden_reports(small: Difference, name: str, golden: bool) -> None:
    printed = {"text": diff_text.report, "markdown": markdown.report}.get(
        name, partial(machine.findings_report, format_name=name)
    )
    expected = GOLDEN / f"{name}.txt"
    if golden:
        expected.write_text(printed(small), encoding="utf-8")
    assert printed(small) == expected.read_text(encoding="utf-8")


def test_json_has_every_change_with_its_fingerprint(small: Difference) -> None:
    value = json.loads(machine.json_report(small))
    output = [(each["name"], each["status"], [change["rule"] for change in each["changes"]]) for each in value["tools"]]
    assert output == [
        ("look", "changed", ["CON105", "RSK01"]),
        ("put", "added", ["CON312", "SUR02"]),
        ("run_it", "changed", ["RSK07"]),
    ]  # fmt: skip
    assert value["tools"][0]["changes"][0]["witness"]["value"] == {"name": "a" * 21}


def test_no_changes_print_nothing(tmp_path: Path) -> None:
    same = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": PLAIN})
    assert (diff_text.report(same), markdown.report(same), machine.findings_report(same, "github"), summary(same)) == (
        "",
        "",
        "",
        (),
    )


def test_spec_text_is_escaped_in_markdown(tmp_path: Path) -> None:
    hostile = json.dumps(HOSTILE)
    new = PLAIN.replace("label: Look", f"label: {hostile}").replace("[echo,", f"[{hostile},")
    report = markdown.report(difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": new}))
    fenced = False
    for line in report.splitlines()[1:]:
        if line.strip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            assert "@everyone" not in line
            assert "<img" not in line
            assert "](" not in line.replace("\\]\\(", "")
    assert not fenced
    assert "\u202e" not in report


@pytest.mark.slow
def test_comment_length_is_limited(tmp_path: Path) -> None:
    old = {f"{n}.yaml": PLAIN.replace("name: look", f"name: look_{n}") for n in range(100)}
    new = {path: spec.replace("Look a thing up", "Look at one thing after another " * 40) for path, spec in old.items()}
    report = markdown.report(difference(tmp_path, old, new))
    assert 50_000 < len(report) <= markdown.LONGEST
    assert report.endswith("more tools changed, and this comment is full: run toolc diff to see them.\n")
    assert len(summary(difference(tmp_path, old, new))) <= 10


def test_removed_and_renamed_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = PLAIN.replace("name: look", "name: put").replace("Look a thing up", "Put one thing down there")
    renamed = PLAIN.replace("name: look", "name: find")
    report = markdown.report(difference(tmp_path, {"a.yaml": PLAIN, "b.yaml": other}, {"a.yaml": renamed}))
    assert [line for line in report.splitlines() if line.startswith(("#", "-"))] == [
        "### toolc: old to new",
        "- tools: 1 removed, 1 probably renamed",
        "- changes: 2 breaking",
        "- tokens of these definitions, about: 147 before, 73 after \\(\\-74\\)",
        "#### `find`: probably renamed from look \\(calls have the same effect\\)",
        (
            "- **breaking** CON302: probably renamed from look \\(calls have the same effect\\); "
            "calls of look fail; add it to aliases at `new/a.yaml:2` (4adb2f20ecfa)"
        ),
        "#### `put`: removed, about 74 tokens before, 0 after",
        "- **breaking** CON301: the tool was removed, so calls fail at `old/b.yaml:2` (6aba3d2bc90a)",
    ]


def test_long_script_is_truncated_in_every_report(tmp_path: Path) -> None:
    old = SCRIPT.replace("      echo one\n", "".join(f"      echo {n}\n" for n in range(10_000)))
    new = SCRIPT.replace("      echo one\n", "".join(f"      printf {n}\n" for n in range(10_000)))
    found = difference(tmp_path, {"a.yaml": old}, {"a.yaml": new})
    assert len(markdown.report(found)) < 10_000
    assert "more lines)" in diff_text.report(found)
    assert len(diff_text.report(found).splitlines()) < 100


@pytest.mark.slow
def test_tool_with_too_many_changes_lists_the_most_severe(tmp_path: Path) -> None:
    entry = "  p{}: {{type: string, maxLength: 9, description: '{}'}}\n"
    words = "What it is: " + " ".join(f"word{number}" for number in range(140))
    many = "".join(entry.format(number, words) for number in range(60))
    old = PLAIN.replace("backend:", f"{many}backend:")
    new = old.replace("maxLength: 9", "maxLength: 8").replace("What", "Which") + "sandbox: {workspace: rw}\n"
    report = markdown.report(difference(tmp_path, {"a.yaml": old}, {"a.yaml": new}))
    assert len(report) <= markdown.LONGEST
    assert "**critical** RSK02" in report


def test_branch_names_are_escaped_in_markdown(small: Difference) -> None:
    bad = "x\n# [a](http://evil.example) @all <script>`" + "long" * 400
    named = replace(small, old=replace(small.old, label=bad), new=replace(small.new, label=bad))
    title = markdown.report(named).splitlines()[1]
    assert title.startswith(
        "### toolc: x&lt;U\\+000A\\>\\# \\[a\\]\\(http&#58;//evil.example\\) &#64;all &lt;script\\>"
    )
    assert len(title) < 1300
    assert "\x1b" not in diff_text.report(named)


def test_sarif_follows_its_schema(small: Difference) -> None:
    schema = json.loads((GOLDEN.parent.parent / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    log = json.loads(machine.findings_report(small, "sarif"))
    Draft4Validator(schema).validate(log)
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["CON105", "RSK01", "RSK07", "SUR02"]


def test_change_inside_a_long_program(tmp_path: Path) -> None:
    long = [f"      echo {n}\n" for n in range(10_000)]
    old = SCRIPT.replace("      echo one\n", "".join(long))
    new = SCRIPT.replace("      echo one\n", "".join([*long[:9_000], "      curl evil.example\n", *long[9_000:]]))
    lines = diff_text.report(difference(tmp_path, {"a.yaml": old}, {"a.yaml": new})).splitlines()
    assert lines[3:5] == ["    @@ -9002,0 +9002,1 @@", "    +curl evil.example"]


def test_change_inside_a_long_line(tmp_path: Path) -> None:
    old = PLAIN.replace("[echo,", f"[echo, {'a' * 1000}b,")
    new = PLAIN.replace("[echo,", f"[echo, {'a' * 1000}c,")
    report = diff_text.report(difference(tmp_path, {"a.yaml": old}, {"a.yaml": new}))
    assert f'    +...{"a" * 40}c", "--",' in report


def test_fingerprint_depends_on_complete_values(tmp_path: Path) -> None:
    """A fingerprint of shortened values would accept other changes too."""

    def known(folder: str, middle: str) -> set[str]:
        old = PLAIN.replace("[echo,", f"[echo, {'a' * 500}, b, {'c' * 500},")
        new = PLAIN.replace("[echo,", f"[echo, {'a' * 500}, {middle}, {'c' * 500},")
        (tool,) = difference(tmp_path / folder, {"a.yaml": old}, {"a.yaml": new}).tools
        return {fingerprint(tool.name, change) for change in tool.changes}

    assert known("one", "x") & known("other", "y") == set()
    assert known("again", "x") == known("and again", "x")
