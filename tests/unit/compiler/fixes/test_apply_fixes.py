"""The texts of files before and after ``--fix``, and properties of all fixes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolc.compiler.fixes import apply
from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.pipeline.compile import FileResult, compile_specs, compile_text
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.document.loader import load_data
from toolc.document.nodes import to_json
from toolc.model.diagnostics import Diagnostics, Edit, Fix, Severity
from toolc.model.source import Position, Span

SETTINGS = Settings(severity={"TC305": Severity.WARNING})
HEAD = "toolc: 1\nname: hello\n"
WORDS = "description: Say hello to the whole wörld ✓, and to no one else.\n"
ECHO = "backend: {shell: {argv: [echo, hello]}}\n"
TOOL = f"{HEAD}{WORDS}{ECHO}"
WHO = "parameters: {who: {type: string}}\n"
N = "parameters: {n: {type: integer, minimum: -5}}\n"
TOML = 'toolc = 1\nname = "hello"\ndescription = "Say hello to the whole wörld ✓, and to no one else."\n'
TOML_N = "parameters.n = {type = 'integer', minimum = -1}\n"
TOML_REQUIRED = "[parameters]\ntype = 'object'\nrequired = ['a']\n[parameters.properties.a]\n"
TOML_ECHO = 'backend.shell.argv = ["echo", "hello"]\n'


def fixed(folder: Path, text: str, name: str = "tool.yaml", *, unsafe: bool = False) -> tuple[str, int]:
    """Return the text of a file after its fixes, and the number of fixes."""
    path = folder / name
    path.write_bytes(text.encode())
    found = [*apply_fixes([path], SETTINGS, unsafe=unsafe)]
    for each in found:
        each.write()
    return path.read_bytes().decode(), sum(each.count for each in found)


def argv(items: str, parameters: str = "") -> str:
    return f"{HEAD}{WORDS}{parameters}backend:\n  shell:\n    argv: {items}\n"


SAFE = [
    ("TC003", f"{WORDS}label: no\n", f'{WORDS}label: "no"\n'),
    ("TC003", f"{WORDS}label: ✓\ntags: [✓, on, 22:22]\n", f'{WORDS}label: ✓\ntags: [✓, "on", "22:22"]\n'),
    ("TC807", f"{WORDS}# toolc: ignore[TC211] ✓\n", WORDS),
    ("TC807", f"label: ✓   # toolc: ignore[TC211] x\n{WORDS}", f"label: ✓\n{WORDS}"),
    ("TC807", f"{WORDS}# toolc: ignore[TC211,TC213] the end\n", WORDS),
    *(
        (
            "TC807",
            f"description: ✓ hi # toolc: ignore[{before}] short\n",
            f"description: ✓ hi # toolc: ignore[{after}] short\n",
        )
        for before, after in [
            ("TC211, TC204", "TC204"),
            (" TC204 , TC211 ", " TC204 "),
            ("TC211,TC204,TC213", "TC204"),
            ("TC204, TC211, TC213", "TC204"),
        ]
    ),
]

UNSAFE = [
    ("TC004", f"{HEAD}{WORDS}version: 1.10\n{ECHO}", f'{HEAD}{WORDS}version: "1.10"\n{ECHO}'),
    ("TC101", f"{HEAD}descripton: ✓ Say hello.\n{ECHO}", f"{HEAD}description: ✓ Say hello.\n{ECHO}"),
    ("TC101", f"{HEAD}'descripton': ✓ Say hello.\n{ECHO}", f"{HEAD}'description': ✓ Say hello.\n{ECHO}"),
    ("TC101", f"{TOOL}providers: {{antropic: {{}}}}\n", f"{TOOL}providers: {{anthropic: {{}}}}\n"),
    ("TC109", f"{TOOL}sandbox: {{limits: {{timeout: 90}}}}\n", f"{TOOL}sandbox: {{limits: {{timeout: 90s}}}}\n"),
    ("TC109", f"{TOOL}sandbox: {{limits: {{timeout: '2 min'}}}}\n", f"{TOOL}sandbox: {{limits: {{timeout: '2m'}}}}\n"),
    ("TC110", argv("[echo, ✓, {{ who }}, {{ who }}/x]", WHO), argv('[echo, ✓, "{{ who }}", "{{ who }}/x"]', WHO)),
    ("TC403", argv('[seq, "✓", "{{ n }}", "{{ n }}"]', N), argv('[seq, "✓", "--", "{{ n }}", "{{ n }}"]', N)),
    ("TC403", argv('\n      - seq\n      - "{{ n }}"', N), argv('\n      - seq\n      - "--"\n      - "{{ n }}"', N)),
    ("TC403", argv('[seq, "{{ n }}", -w]', N), None),
    ("TC406", argv('[echo, "whom ✓ {{ whom }}"]', WHO), argv('[echo, "whom ✓ {{ who }}"]', WHO)),
    (
        "TC408", f"{HEAD}{WORDS}backend: {{http: {{url: 'http://example.com/✓'}}}}\n",
        f"{HEAD}{WORDS}backend: {{http: {{url: 'https://example.com/✓'}}}}\n",
    ),
    (
        "TC007", f"{TOOL}result: {{schema: {{properties: {{é: {{}}, true: {{}}}}}}}}\n",
        f'{TOOL}result: {{schema: {{properties: {{é: {{}}, "true": {{}}}}}}}}\n',
    ),
    ("TC108", argv("[head, ✓, -n, 10, true]"), argv('[head, ✓, -n, "10", "true"]')),
    (
        "TC402", f"{HEAD}{WORDS}backend:\n  shell:\n    script: |\n      wc -l 'a b'\n\n" + "label: ✓\n",
        f'{HEAD}{WORDS}backend:\n  shell:\n    argv: [wc, -l, "a b"]\n\nlabel: ✓\n',
    ),
    ("TC402", f"{HEAD}{WORDS}backend:\n  shell:\n    script: |\n      # why\n      wc -l a\n", None),
    ("TC402", f"{HEAD}{WORDS}label: ✓\nbackend: {{shell: {{script: &a wc -l a}}}}\n", None),
    (
        "TC210", f"{HEAD}description: Say\u200b hello to ✓ the whole\u202e world, 👩\u200d🚀.\n{ECHO}",
        f"{HEAD}description: Say hello to ✓ the whole world, 👩\u200d🚀.\n{ECHO}",
    ),
    ("TC210", f'{HEAD}description: "Say hello to ✓ the whole\\u200b world."\n{ECHO}', None),
]  # fmt: skip

REQUIRED = f"{TOOL}parameters:\n  type: object\n  required: [who]\n  properties:\n    who:"
DEFAULTS = [
    (" {type: string, default: é}\n", " {type: string}\n"),
    (" {default: é, type: string}\n", " {type: string}\n"),
    ("\n      default: é  # why\n      type: string\n", "\n      type: string\n"),
    ("\n      type: string\n      default: é", "\n      type: string\n"),
    ("\n      type: string\n      default: |\n        é\n", "\n      type: string\n"),
]


@pytest.mark.parametrize(("number", "before", "after"), SAFE)
def test_safe_fixes_are_applied(tmp_path: Path, number: str, before: str, after: str) -> None:
    before, after = f"{HEAD}{before}{ECHO}", f"{HEAD}{after}{ECHO}"
    assert _is_reported(tmp_path, number, before)
    assert fixed(tmp_path, before)[0] == after
    assert fixed(tmp_path, after) == (after, 0)


@pytest.mark.parametrize(("number", "before", "after"), UNSAFE)
def test_unsafe_fixes_need_the_option(tmp_path: Path, number: str, before: str, after: str | None) -> None:
    assert _is_reported(tmp_path, number, before)
    assert fixed(tmp_path, before) == (before, 0)
    assert fixed(tmp_path, before, unsafe=True)[0] == (after or before)


@pytest.mark.parametrize(("before", "after"), DEFAULTS)
def test_default_is_removed_with_its_line_or_comma(tmp_path: Path, before: str, after: str) -> None:
    assert fixed(tmp_path, REQUIRED + before, unsafe=True) == (REQUIRED + after, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{TOML}# toolc: ignore[TC211] ✓\n{TOML_ECHO}", f"{TOML}{TOML_ECHO}"),
        (f"{TOML}lable = '✓'\n{TOML_ECHO}", f"{TOML}label = '✓'\n{TOML_ECHO}"),
        (f"{TOML}{TOML_ECHO}sandbox.limits.timeout = 90\n", f'{TOML}{TOML_ECHO}sandbox.limits.timeout = "90s"\n'),
        (f"{TOML}{TOML_ECHO}version = 1.10\n", f'{TOML}{TOML_ECHO}version = "1.10"\n'),
        (f"{TOML}backend.shell.script = 'wc -l a'\n", f'{TOML}backend.shell.argv = ["wc", "-l", "a"]\n'),
        (f"{TOML}backend.http.url = 'http://example.com/'\n", f"{TOML}backend.http.url = 'https://example.com/'\n"),
        (
            f"{TOML}{TOML_ECHO}{TOML_REQUIRED}default = 'é'\ntype = 'string'\n",
            f"{TOML}{TOML_ECHO}{TOML_REQUIRED}type = 'string'\n",
        ),
        (
            f"{TOML}{TOML_N}backend.shell.argv = [\n  'seq',\n  '{{{{ n }}}}',\n]\n",
            f"{TOML}{TOML_N}backend.shell.argv = [\n  'seq',\n  \"--\", '{{{{ n }}}}',\n]\n",
        ),
    ],
)
def test_toml_files_are_fixed(tmp_path: Path, before: str, after: str | None) -> None:
    assert fixed(tmp_path, before, "tool.toml", unsafe=True)[0] == (after or before)


def test_windows_line_endings_are_kept(tmp_path: Path) -> None:
    before = (argv('\n      - seq\n      - "{{ n }}"', N) + "label: no\n").replace("\n", "\r\n")
    after = before.replace('      - "{{', '      - "--"\r\n      - "{{').replace("label: no", 'label: "no"')
    assert fixed(tmp_path, before, unsafe=True) == (after, 2)


def test_byte_order_mark_is_removed_if_reported(tmp_path: Path) -> None:
    before = f"\ufeff{HEAD}{WORDS}label: no\n{ECHO}"
    after = before.replace("label: no", 'label: "no"')
    assert fixed(tmp_path, before) == (after[1:], 2)
    (tmp_path / "tool.yaml").write_bytes(before.encode())
    (result,) = apply_fixes([tmp_path], Settings(ignore=("TC009",)), unsafe=False)
    assert result.after == after.encode()


def test_findings_revealed_by_a_fix_are_fixed(tmp_path: Path) -> None:
    before = f"{TOOL}sandbox: {{limits: {{timeot: 90}}}}\n"
    assert fixed(tmp_path, before, unsafe=True) == (before.replace("timeot: 90", "timeout: 90s"), 2)


@pytest.mark.parametrize(
    "lines",
    [
        "descripton: ✓ Say hello to the world.\ndescriptoin: ✓ Say hello to the world.\n",  # which of the two?
        "descripton: ✓ Say hello to the world.\ndescription: ✓ Say hello to the world.\n",  # it exists already
        "sandbox: {limits: {timeout: &t 90, pids: *t}}\ndescription: ✓ Say hello to the world.\n",
        "label: &x 1.10\ndescription: ✓ Say hello to the world.\n",
        "label: &x no\nowner: *x\ndescription: ✓ Say hello to the world.\n",
    ],
)
def test_ambiguous_findings_are_not_fixed(tmp_path: Path, lines: str) -> None:
    assert fixed(tmp_path, f"{HEAD}{lines}{ECHO}", unsafe=True) == (f"{HEAD}{lines}{ECHO}", 0)


def test_ignored_findings_are_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "tool.yaml"
    path.write_text(f"{HEAD}{WORDS}label: no\n{ECHO}", encoding="utf-8")
    assert not [*apply_fixes([path], Settings(ignore=("TC003",)), unsafe=True)]
    path.write_text(f"{HEAD}{WORDS}label: no  # toolc: ignore[TC003] ours\n{ECHO}", encoding="utf-8")
    assert not [*apply_fixes([path], NO_SETTINGS, unsafe=True)]


def test_other_files_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services: {a: no}  # toolc: ignore[TC204] no\n", encoding="utf-8")
    (tmp_path / "binary.yaml").write_bytes(b"toolc: 1\nname: \xff\nlabel: no\n")
    assert not [*apply_fixes([tmp_path], NO_SETTINGS, unsafe=True)]


def test_many_findings_in_one_call(tmp_path: Path) -> None:
    before = f"{HEAD}{WORDS}tags: [{', '.join(['no'] * 30)}]\n{ECHO}"
    assert fixed(tmp_path, before) == (before.replace("no,", '"no",').replace("no]", '"no"]'), 30)


def test_fixes_that_are_not_good_together_are_applied_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def are_good(fixes: list[object], before: FileResult, after: FileResult) -> bool:
        tried.append(len(fixes))
        return len(fixes) == 1

    monkeypatch.setattr(apply, "_are_good", are_good)
    before = f"{HEAD}{WORDS}tags: [no, no, no, no]\n{ECHO}"
    assert fixed(tmp_path, before) == (before.replace("no,", '"no",').replace("no]", '"no"]'), 4)
    assert tried[:7] == [4, 2, 1, 1, 2, 1, 1]


VICTIM = f"{HEAD}description: Say é.\nlabel: ✓\n{ECHO}"
LONG = "Say hello to the whole wörld, and to no one else."


def offer(monkeypatch: pytest.MonkeyPatch, line: int, start: int, end: int, text: str, *, safe: bool) -> None:
    """Add this fix to each finding TC204."""

    def compiled(data: bytes, found: SpecFile, projects: Projects, chosen: Settings) -> FileResult:
        alone = compile_text(data, found, projects, chosen)
        span = Span(found.display_path, Position(line, start), Position(line, end))
        fix = Fix("write it", (Edit(span, text),), safe)
        return FileResult(
            alone.document,
            alone.diagnostics.map(lambda each: replace(each, fix=fix) if each.code.number == "TC204" else each),
        )

    monkeypatch.setattr(apply, "compile_text", compiled)


def test_correct_fix_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, 3, 14, 20, LONG, safe=False)
    assert fixed(tmp_path, VICTIM, unsafe=True) == (VICTIM.replace("Say é.", LONG), 1)


@pytest.mark.parametrize(
    ("line", "start", "end", "text", "safe"),
    [
        (3, 14, 20, LONG, True),  # another meaning
        (3, 14, 20, "Say é!", False),  # the finding remains
        (3, 14, 20, f"{LONG}\nfoo: 1", False),  # a new error
        (3, 14, 20, f'"{LONG}', False),  # not YAML
        (3, 1, 13, "# description:", True),  # another meaning with the same values
        (4, 1, 6, "label: ✓\nlabel", False),  # outside the finding
    ],
)
def test_fix_with_another_effect_is_not_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, start: int, end: int, text: str, *, safe: bool
) -> None:
    offer(monkeypatch, line, start, end, text, safe=safe)
    assert fixed(tmp_path, VICTIM, unsafe=True) == (VICTIM, 0)


@pytest.mark.parametrize("unsafe", [False, True])
def test_value_outside_the_edit_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, unsafe: bool
) -> None:
    correct = apply.apply_fix
    monkeypatch.setattr(apply, "apply_fix", lambda *given: correct(*given).replace(b"hello to", b"bye to"))
    before = f"{TOOL}version: {'1.10' if unsafe else 'no'}\n"
    assert fixed(tmp_path, before, unsafe=unsafe) == (before, 0)


def test_project_file_is_not_changed(tmp_path: Path) -> None:
    project, spec = tmp_path / "toolc.yaml", tmp_path / "tool.yaml"
    project.write_text("vars: {x: no}\ndefaults: {sandbox: {limits: {timeout: 9}}}\n")
    spec.write_text(TOOL, encoding="utf-8")
    found = compile_specs([spec]).diagnostics.sorted()
    assert [(each.code.number, each.fix) for each in found] == [("TC003", None), ("TC109", None)]
    assert not [*apply_fixes([tmp_path], NO_SETTINGS, unsafe=True)]


def test_a_fix_has_a_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(f"{HEAD}label: no", encoding="utf-8")
    (result,) = apply_fixes([Path("a.yaml")], Settings(), unsafe=False)
    assert result.diff() == (
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -1,3 +1,3 @@\n toolc: 1\n name: hello\n"
        '-label: no\n\\ No newline at end of file\n+label: "no"\n\\ No newline at end of file\n'
    )


LINES = st.sampled_from(
    [
        "label: no",
        "label: ✓ # toolc: ignore[TC211, TC003] 😀",
        "# toolc: ignore[TC213] é",
        "version: 1.10",
        "tags: [on, 😀, 12:30:00, 'no', \"off\"]",
        "owner: &a yes",
        "deprecated: *a",
        "descripton: ✓ x",
        "description: Say\u200b hello 👩\u200d🚀 to all\u202e.",
        'description: "Say \\u200b ✓ no"',
        "sandbox: {limits: {timeout: 90, memory: '1 gb'}}",
        "sandbox:\n  limits:\n    timeout: 2 min",
        "parameters: {n: {type: integer, minimum: -5, descriptio: ✓}, yes: {type: string, enum: [1.0, 2.10, no]}}",
        "parameters:\n  type: object\n  required: [n]\n  properties:\n    n: {default: -1, type: integer}",
        "backend: {shell: {argv: [é, '{{ n }}', '{{ nn }}']}}",
        "backend:\n  shell:\n    script: |\n      wc -l ✓\n",
        "backend:\n  shell:\n    argv:\n      - ✓\n      - '{{ n }}'\n      - {{ n }}/x",
        "backend: {http: {url: 'http://example.com/✓'}}",
        "examples: [{n: off}]",
        "\ttab: 1",
        "label: 'open",
    ]
)


@pytest.mark.slow
@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
def test_any_mix_of_findings_keeps_the_meaning(tmp_path: Path, lines: list[str], end: str, mark: str) -> None:
    before = mark + end.join([*HEAD.splitlines(), *lines, ""]).replace("\n", end).replace("\r\r", "\r")
    safe, _ = fixed(tmp_path, before)
    assert _meaning(safe) == _meaning(before)
    after, _ = fixed(tmp_path, before, unsafe=True)
    assert fixed(tmp_path, after, unsafe=True) == (after, 0)
    assert fixed(tmp_path, safe) == (safe, 0)
    for text in (safe, after):
        assert "\ufeff" not in text or _meaning(text) is None
        assert text.count("\n") == text.count(end)
    if _meaning(before) is not None:
        assert _meaning(after) is not None


def _meaning(text: str) -> str | None:
    document = load_data(text.encode(), Path("tool.yaml"), "tool.yaml", Diagnostics())
    return json.dumps(to_json(document.root)) if document else None


def _is_reported(folder: Path, number: str, text: str) -> bool:
    path = folder / "tool.yaml"
    path.write_bytes(text.encode())
    return any(each.code.number == number for each in compile_specs([path]).diagnostics.sorted())


def test_many_fixes_of_one_line_are_verified_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = 0

    def counted(*arguments: Any) -> FileResult:
        nonlocal compilations
        compilations += 1
        return compile_text(*arguments)

    monkeypatch.setattr(apply, "compile_text", counted)
    items = ", ".join("'a'" if number % 100 == 0 else "{{ a }}" for number in range(500))
    path = tmp_path / "tool.yaml"
    path.write_text(
        "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n"
        f"parameters: {{a: {{type: string, description: A name}}}}\nbackend: {{shell: {{argv: [echo, {items}]}}}}\n"
    )
    (fixed,) = apply_fixes([path], NO_SETTINGS, unsafe=True)
    assert fixed.after.decode().count('"{{ a }}"') == fixed.count == 495
    assert compilations < 60
