"""Accepted changes: a file with reasons, which expire and can go."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from reviewing import PLAIN, difference

from toolc.model.errors import UsageError
from toolc.review.accepted import read, remaining
from toolc.review.model.change import fingerprint

TODAY = datetime.date(2026, 6, 1)
WIDER = PLAIN + "sandbox: {network: {allow: [b.example.com:443]}}\n"


def accepted(folder: Path, *lines: str) -> Path:
    path = folder / "toolc.accepted.yaml"
    path.write_text("accepted:\n" + "".join(f"  - {line}\n" for line in lines), encoding="utf-8")
    return path


def test_an_accepted_change_is_left_out_also_after_its_line_moved(tmp_path: Path) -> None:
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
def test_whoever_accepts_what_is_compatible_has_not_accepted_what_breaks_beside_it(
    tmp_path: Path, old: str, new: str, harmless: str, left: str
) -> None:
    before, after = (PLAIN.replace("type: string, ", "").replace("maxLength: 50", each) for each in (old, new))
    found = difference(tmp_path, {"a.yaml": before}, {"a.yaml": after})
    messages = {change.message: fingerprint("look", change) for change in found.tools[0].changes}
    path = accepted(tmp_path, f'{{fingerprint: "{messages[harmless]}", reason: it is more, who: alice}}')
    kept = remaining(found, read(path), TODAY)
    assert left in [change.message for change in kept.difference.tools[0].changes]
    assert kept.count == 1


def test_whoever_accepts_a_schema_of_results_has_accepted_no_other(tmp_path: Path) -> None:
    def promised(folder: str, kind: str) -> str:
        after = f"{PLAIN}result: {{format: json, schema: {{type: object, properties: {{a: {{type: {kind}}}}}}}}}\n"
        (tool,) = difference(tmp_path / folder, {"a.yaml": PLAIN}, {"a.yaml": after}).tools
        return next(fingerprint("look", change) for change in tool.changes if change.rule == "CON311")

    assert promised("one", "string") == promised("again", "string") != promised("other", "integer")


def test_an_acceptance_expires_and_one_of_nothing_can_go(tmp_path: Path) -> None:
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
        "toolc.accepted.yaml:3:5: nothing here has the fingerprint 000000000000: it can go",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{fingerprint: "000000000000", who: bob}', "has no 'reason'"),
        ("{fingerprint: xyz, reason: r, who: bob}", "'xyz' is no fingerprint"),
        ('{fingerprint: "000000000000", reason: r, who: b, expires: "soon"}', "'soon' is no day; write it"),
        ('{fingerprint: "000000000000", reason: r, who: b, until: x}', "an acceptance has no key 'until'"),
        ("nothing", "must be a map"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_says_where(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(accepted(tmp_path, line))
    assert words in str(raised.value)
    assert "toolc.accepted.yaml:2:" in str(raised.value)
