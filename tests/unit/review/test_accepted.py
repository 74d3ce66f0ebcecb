"""The file of accepted changes, and fingerprints."""

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reviews.reviewing import PLAIN, difference

from toolc.model.errors import UsageError
from toolc.providers.json_schema.lowering import LossLog
from toolc.review.accepted import read, remaining
from toolc.review.model.change import ToolChange, fingerprint

TODAY = datetime.date(2026, 6, 1)
WIDER = PLAIN + "sandbox: {network: {allow: [b.example.com:443]}}\n"


def accepted(folder: Path, *lines: str) -> Path:
    path = folder / "toolc.accepted.yaml"
    path.write_text("accepted:\n" + "".join(f"  - {line}\n" for line in lines), encoding="utf-8")
    return path


def test_accepted_change_is_omitted_after_its_line_moved(tmp_path: Path) -> None:
    first = difference(tmp_path / "1", {"a.yaml": PLAIN}, {"a.yaml": WIDER})
    known = fingerprint("look", first.tools[0].changes[0])
    path = accepted(tmp_path, f'{{fingerprint: "{known}", reason: it is ours, who: alice}}')
    moved = difference(tmp_path / "2", {"x/b.yaml": PLAIN}, {"b.yaml": "# moved\n\n" + WIDER})
    kept = remaining(moved, read(path), TODAY)
    assert (kept.difference.tools, kept.count, kept.notes) == ((), 1, ())


@pytest.mark.parametrize(
    ("old", "new", "harmless", "left"),
    [
        ("enum: [lamp, door]", "enum: [lamp, roof]", "'name' now allows \"roof\"", "'name' no longer allows \"door\""),
        ("type: string", "type: integer", "'name' now allows integer", "'name' no longer allows string"),
    ],
    ids=["values", "types"],
)
def test_accepting_a_compatible_change_does_not_accept_a_breaking_one(
    tmp_path: Path, old: str, new: str, harmless: str, left: str
) -> None:
    before, after = (PLAIN.replace("type: string, ", "").replace("maxLength: 50", each) for each in (old, new))
    found = difference(tmp_path, {"a.yaml": before}, {"a.yaml": after})
    messages = {change.message: fingerprint("look", change) for change in found.tools[0].changes}
    path = accepted(tmp_path, f'{{fingerprint: "{messages[harmless]}", reason: it is more, who: alice}}')
    kept = remaining(found, read(path), TODAY)
    assert left in [change.message for change in kept.difference.tools[0].changes]
    assert kept.count == 1


def test_accepting_a_result_schema_does_not_accept_another(tmp_path: Path) -> None:
    def promised(folder: str, kind: str) -> str:
        after = f"{PLAIN}result: {{format: json, schema: {{type: object, properties: {{a: {{type: {kind}}}}}}}}}\n"
        (tool,) = difference(tmp_path / folder, {"a.yaml": PLAIN}, {"a.yaml": after}).tools
        return next(fingerprint("look", change) for change in tool.changes if change.rule == "CON311")

    assert promised("one", "string") == promised("again", "string") != promised("other", "integer")


def test_expired_and_unused_acceptances_are_reported(tmp_path: Path) -> None:
    found = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": WIDER})
    known = fingerprint("look", found.tools[0].changes[0])
    path = accepted(
        tmp_path,
        f'{{fingerprint: "{known}", reason: for now, who: bob, expires: "2026-05-31"}}',
        '{fingerprint: "000000000000", reason: long ago, who: bob}',
    )
    kept = remaining(found, read(path), TODAY)
    assert (len(kept.difference.tools), kept.count) == (1, 0)
    assert [note.replace(f"{tmp_path}/", "") for note in kept.notes] == [
        f"toolc.accepted.yaml:2:5: the acceptance of {known} expired on 2026-05-31",
        "toolc.accepted.yaml:3:5: no change has the fingerprint 000000000000; remove this acceptance",
    ]


def test_a_fingerprint_does_not_depend_on_the_message_the_grade_or_the_lines(tmp_path: Path) -> None:
    (tool,) = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": WIDER}).tools
    for change in tool.changes:
        reworded = replace(change, message="reworded", grade="low", old=None, new=None)
        assert fingerprint("look", reworded) == fingerprint("look", change)


@pytest.mark.parametrize(
    "other",
    [
        {"rule": "CON104"}, {"path": ("parameters", "properties", "age", "enum")}, {"before": '["a", "c"]'},
        {"after": '["c"]'}, {"after": None}, {"direction": "wider"}, {"subject": "age"},
    ],
    ids=str,
)  # fmt: skip
def test_a_fingerprint_depends_on_rule_path_values_and_direction(other: dict[str, Any]) -> None:
    change = ToolChange(
        rule="CON103", grade="breaking", message="'name' no longer allows \"a\"",
        path=("parameters", "properties", "name", "enum"), before='["a", "b"]', after='["b"]', direction="narrower",
    )  # fmt: skip
    assert fingerprint("look", replace(change, **other)) != fingerprint("look", change)
    assert fingerprint("find", change) != fingerprint("look", change)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("required: []", "required: [name, size]"),
        ("required: [name, size]", "required: []"),
        ("allOf: [{required: [name]}]", "allOf: [{required: [size]}]"),
        ("not: {maxProperties: 3}", "not: {minProperties: 2}"),
    ],
    ids=["required", "optional", "allOf", "not"],
)
def test_changes_of_one_keyword_have_different_fingerprints(tmp_path: Path, old: str, new: str) -> None:
    schema = PLAIN + "result: {format: json, schema: {type: object, properties: {name: {}, size: {}}, %s}}\n"
    before, after = (schema % each for each in (old, new))
    changes = difference(tmp_path, {"a.yaml": before}, {"a.yaml": after}).tools[0].changes
    assert len({fingerprint("look", each) for each in changes}) == len(changes) > 1


def test_two_files_with_the_same_new_content_have_different_fingerprints(tmp_path: Path) -> None:
    spec = PLAIN.split("backend:")[0] + "backend: {python: {file: main.py, files: [%s], function: main}}\n"
    files = {"main.py": "def main(name: str) -> str:\n    return name\n", "x.py": "import os\n", "y.py": "import os\n"}
    old, new = (files | {"a.yaml": spec % names} for names in ("", "x.py, y.py"))
    (tool,) = difference(tmp_path, old, new).tools
    added = [fingerprint("look", each) for each in tool.changes if each.rule == "RSK07"]
    assert len(set(added)) == len(added) == 2


def test_the_fingerprint_of_a_provider_change_does_not_depend_on_the_text_of_the_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprints(place: str, keyword: str) -> dict[str, str]:
        new = PLAIN.replace("maxLength: 50", keyword)
        (tool,) = difference(tmp_path / place, {"a.yaml": PLAIN}, {"a.yaml": new}).tools
        return {fingerprint("look", each): each.message for each in tool.changes if each.kind == "provider"}

    found, other = fingerprints("1", "not: {const: a}"), fingerprints("2", "if: {const: a}")
    add = LossLog.add

    def reword(log: LossLog, pointer: str, text: str, *rest: str, **options: Any) -> None:
        add(log, pointer, f"reworded {text[::-1]}", *rest, **options)

    monkeypatch.setattr(LossLog, "add", reword)
    reworded = fingerprints("3", "not: {const: a}")
    assert found.keys() == reworded.keys() != other.keys()
    assert not {*found.values()} & {*reworded.values()}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{fingerprint: "000000000000", who: bob}', "has no 'reason'"),
        ("{fingerprint: xyz, reason: r, who: bob}", "'xyz' is not a fingerprint"),
        ('{fingerprint: "000000000000", reason: r, who: b, expires: "soon"}', "'soon' is not a date; write it"),
        ('{fingerprint: "000000000000", reason: r, who: b, until: x}', "an acceptance has no key 'until'"),
        ("nothing", "must be a map"),
    ],
)  # fmt: skip
def test_invalid_file_of_accepted_changes(tmp_path: Path, line: str, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(accepted(tmp_path, line))
    assert text in str(raised.value)
    assert "toolc.accepted.yaml:2:" in str(raised.value)
