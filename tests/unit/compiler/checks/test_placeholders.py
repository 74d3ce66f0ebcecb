"""Placeholders in a form that is not replaced (TC414), with the right spelling as a fix."""

from pathlib import Path
from typing import Final

import pytest
from check_cases import HEAD

from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Diagnostic

PARAMETERS: Final = "parameters: {name: {type: string}, other: {type: string, default: a}}\n"
SECRETS: Final = (
    "sandbox:\n  env: {COLOR: red}\n  secrets: {TOKEN: {expose: env}, KEY: {expose: broker, hosts: [a.example.com]}}\n"
)


def script(text: str, more: str = "") -> str:
    lines = "".join(f"      {line}\n" for line in text.split("\n"))
    return f"{HEAD}{PARAMETERS}backend:\n  shell:\n    script: |\n{lines}{more}{SECRETS}"


def shell(command: str) -> str:
    return f"{HEAD}{PARAMETERS}backend:\n  shell:\n    {command}\n"


def http(rest: str, url: str = "https://a.example.com/v1") -> str:
    return f"{HEAD}{PARAMETERS}backend:\n  http:\n    url: {url}\n    {rest}\n{SECRETS}".replace("    \n", "")


def errors(folder: Path, text: str) -> list[Diagnostic]:
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [each for each in found if each.is_error]


def fixed(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    Path("tool.yaml").write_text(text, encoding="utf-8")
    files = [*apply_fixes([Path("tool.yaml")], Settings(), unsafe=True)]
    return files[0].after.decode() if files else text


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ('echo "Hi, {{ name }}!"', 'echo "Hi, $ARG_name!"'), ("echo {{name}}", 'echo "$ARG_name"'),
        ("echo 'Hi {{ name }}'", "echo 'Hi '\"$ARG_name\"''"), ('echo "${{ name }}"', 'echo "$ARG_name"'),
        ('echo "${name}"', 'echo "$ARG_name"'), ('echo "$name"', 'echo "$ARG_name"'),
        ("echo $name", 'echo "$ARG_name"'), ('echo "$name.txt"', 'echo "$ARG_name.txt"'),
        ('echo "{name}"', 'echo "$ARG_name"'), ('echo "<name>"', 'echo "$ARG_name"'),
        ("cat <<E\n{{ name }}\nE", "cat <<E\n$ARG_name\nE"), ('echo "{{ name }}s"', 'echo "${ARG_name}s"'),
        ('echo "{{ secrets.TOKEN }}"', 'echo "$TOKEN"'), ('echo "{{ TOKEN }}"', 'echo "$TOKEN"'),
        ('echo "{{ name | upper }}"', 'echo "$ARG_name"'),
    ],
)  # fmt: skip
def test_misspelled_placeholders_in_a_script_are_fixed(
    tmp_path: Path, written: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = errors(tmp_path, script(f"{written}\nls | cat"))
    assert (found.code.slug, found.hint[:6]) == ("misspelled-placeholder", "write ")
    assert fixed(tmp_path, script(f"{written}\nls | cat"), monkeypatch) == script(f"{right}\nls | cat")


@pytest.mark.parametrize(
    "text",
    [
        "docker ps --format '{{.Names}}'", 'name=1; echo "$name"', 'read -r name; echo "$name"', "# {{ name }} $name",
        "for name in a b; do echo $name; done", "jq --arg name a '.[$name]'", "awk '{print $name}'", 'echo "\\$name"',
        '. ./vars; echo "$name"', 'echo "{name}" "$ARG_name"', 'echo "<name>" "$ARG_name"', "jq '{name}'",
        'echo "<name>x</name>"', 'exec {name}>f', 'echo "{{ unknown }} $unknown {unknown} $COLOR $TOKEN"',
        "helm template '{{ .Values.name }}'", 'export name; echo "$name"', 'readonly name; echo "$name"',
        'printf -v name a; echo "$name"', 'local name; echo "$name"', "echo '$name'", 'echo "$HOME"',
        'name=x; echo "${name:-y}"', "cat <<'E'\n$(name) $name\nE", 'echo "${name:-Ada}" "$NAME" "$1" "{{ COLOR }}"',
        'echo "%(name)s %name% #{name} <%= name %> {{ .name }} {% if name %}" :name $(name) $env:name',
    ],
)  # fmt: skip
def test_other_text_of_a_script_is_not_reported(tmp_path: Path, text: str) -> None:
    assert errors(tmp_path, script(text)) == []


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cat <<'E'\n{{ name }}\nE", "write $ARG_name, and the delimiter of the here-document without quotes"),
        ('echo "{{ secrets.KEY }}"', 'a script cannot use this secret; set expose: env and write "$KEY"'),
    ],
)
def test_misspelled_placeholders_without_a_fix_have_a_hint(tmp_path: Path, text: str, hint: str) -> None:
    assert [each.hint for each in errors(tmp_path, script(text))] == [hint]


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ('argv: [echo, "$ARG_name"]', 'argv: [echo, "{{ name }}"]'),
        ("argv: [echo, $name]", 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "Hi ${name}"]', 'argv: [echo, "Hi {{ name }}"]'),
        ('argv: [echo, "{name}"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "<name>"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "{{ args.name }}"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "{{ .name }}"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "{{ $name }}"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [echo, "{{ ARG_name }}"]', 'argv: [echo, "{{ name }}"]'),
        ('argv: [cat]\n    stdin: "${ARG_name}"', 'argv: [cat]\n    stdin: "{{ name }}"'),
    ],
)  # fmt: skip
def test_misspelled_placeholders_in_argv_are_fixed(
    tmp_path: Path, written: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = errors(tmp_path, shell(written))
    assert "write {{ name }}" in found.hint
    assert fixed(tmp_path, shell(written), monkeypatch) == shell(right)


@pytest.mark.parametrize("text", ["{{ name.first }}", "{{ name[0] }}", "{{ name['a'] | upper }}", "{{ name.first.a }}"])
def test_a_part_of_a_parameter_in_a_script_is_an_error(tmp_path: Path, text: str) -> None:
    (found,) = errors(tmp_path, script(f'echo "{text}"'))
    assert "read the part" in found.hint
    assert found.fix is None


def test_quoted_text_in_an_expression_of_a_template_is_literal(tmp_path: Path) -> None:
    request = """query: {a: "{{ '{name}' }}", b: "x {{ '${name}' }} {{ name }}", c: "{{ name }}{{ '{other}' }}"}"""
    assert errors(tmp_path, http(request, "https://a.example.com/{{ '{name}' }}/x")) == []
    assert errors(tmp_path, shell("""argv: [echo, "{{ '$ARG_name' }} {{ '{name}' }}"]""")) == []
    found = errors(tmp_path, http("""query: {a: "{{ '{other}' }} {name}"}"""))
    assert [each.message for each in found] == ["'{name}' is not replaced here and stays unchanged"]


@pytest.mark.parametrize("argv", ['[jq, --arg, a, "{{ name }}", "{name} $name"]', "[awk, '{print $1}', $unknown]"])
def test_other_text_of_a_command_is_not_reported(tmp_path: Path, argv: str) -> None:
    assert errors(tmp_path, shell(f"argv: {argv}")) == []


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("https://a.example.com/{name}/x", "https://a.example.com/{{ name }}/x"),
        ("https://a.example.com/${name}", "https://a.example.com/{{ name }}"),
        ("https://a.example.com/$name/x", "https://a.example.com/{{ name }}/x"),
    ],
)
def test_misspelled_placeholders_in_a_url_are_fixed(
    tmp_path: Path, written: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = errors(tmp_path, http("", written))
    assert found.hint == "write {{ name }}"
    assert right in fixed(tmp_path, http("", written), monkeypatch)


def test_placeholder_in_the_query_of_a_url_belongs_under_query(tmp_path: Path) -> None:
    (found,) = errors(tmp_path, http("", "https://a.example.com/?q={name}"))
    assert found.hint == 'remove it from the URL, and write query: {q: "{{ name }}"}'


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ('query: {q: "{name}"}', 'query: {q: "{{ name }}"}'), ("query: {q: $name}", 'query: {q: "{{ name }}"}'),
        ('headers: {X-A: "a ${name}"}', 'headers: {X-A: "a {{ name }}"}'),
        ('headers: {X-A: "{{ args.name }}"}', 'headers: {X-A: "{{ name }}"}'),
        ('headers: {X-A: "a ${KEY}"}', 'headers: {X-A: "a {{ secrets.KEY }}"}'),
        ('auth: {bearer: "{{ KEY }}"}', 'auth: {bearer: "{{ secrets.KEY }}"}'),
        ('auth: {bearer: "{{ env.KEY }}"}', 'auth: {bearer: "{{ secrets.KEY }}"}'),
        ('method: POST\n    body: {json: {a: ["$name"]}}', 'method: POST\n    body: {json: {a: ["{{ name }}"]}}'),
        ('method: POST\n    body: {form: {a: "{name}"}}', 'method: POST\n    body: {form: {a: "{{ name }}"}}'),
        ('method: POST\n    body: {text: "Hi {name}"}', 'method: POST\n    body: {text: "Hi {{ name }}"}'),
        ('method: POST\n    body: {json: {a: "<name>"}}', 'method: POST\n    body: {json: {a: "{{ name }}"}}'),
        ('method: PUT\n    body: {text: \'["$name"]\'}', 'method: PUT\n    body: {text: \'["{{ name }}"]\'}'),
    ],
)  # fmt: skip
def test_misspelled_placeholders_in_a_request_are_fixed(
    tmp_path: Path, written: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = errors(tmp_path, http(written))
    assert "write {{ " in found.hint
    assert right in fixed(tmp_path, http(written), monkeypatch)


@pytest.mark.parametrize(
    "rest",
    [
        'query: {$name: "{{ name }}"}', 'query: {q: "name eq $name"}', 'query: {q: "{unknown} ${unknown}", r: "$top"}',
        'query: {t: "Hi {name}", name: "{{ name }}"}', 'query: {q: "query($name: ID!) {user(id: $name) {name}}"}',
        'method: POST\n    body: {json: {query: "{user(id: $name) {name}}", variables: {name: "{{ name }}"}}}',
        'method: POST\n    body: {json: {p: [{$match: {a: "{{ name }}"}}, {$group: {_id: "$name"}}]}}',
    ],
)  # fmt: skip
def test_other_text_of_a_request_is_not_reported(tmp_path: Path, rest: str) -> None:
    assert errors(tmp_path, http(rest)) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('return "Hi {{ name }}"', 1), ("return {{ name }}", 1), ('return f"{{name}}"', 0), ('return "{name}"', 0),
        ('return "{{name}}".format()', 0), ('return "{{ unknown }}"', 0),
    ],
)  # fmt: skip
def test_placeholders_in_python_code_are_a_warning(tmp_path: Path, line: str, count: int) -> None:
    code = f"    code: |\n      def hello(name, other='a'):\n          {line}\n"
    (tmp_path / "tool.yaml").write_text(f"{HEAD}{PARAMETERS}backend:\n  python:\n{code}", encoding="utf-8")
    found = compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted()
    assert [each.code.slug for each in found if each.code.number == "TC414"] == ["placeholder-in-code"] * count


def test_scripts_of_other_languages_name_their_variable(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(script("print('{{ name }}')", "    interpreter: [python3]\n"), encoding="utf-8")
    (found,) = [
        each for each in compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted() if each.code.number == "TC414"
    ]
    assert (found.is_error, 'os.environ["ARG_name"]' in found.hint) == (False, True)


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ('cd /; echo "$ARG_nam"', 'cd /; echo "$ARG_name"'),
        ('echo "${ARG_nmae:-x}" "$ARG_other"', 'echo "${ARG_name:-x}" "$ARG_other"'),
        ('echo "$ARG_limit"', 'echo "$ARG_limit"'),
        ('echo "$ARG_NAME" | cat', 'echo "$ARG_name" | cat'),
    ],
)
def test_argument_variable_without_a_parameter_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, right: str
) -> None:
    (found,) = errors(tmp_path, script(written))

    assert found.code.number == "TC406"
    assert found.hint in {"did you mean $ARG_name?", "declare 'limit' under 'parameters'"}
    assert fixed(tmp_path, script(written), monkeypatch) == script(right)


@pytest.mark.parametrize(
    "written",
    [
        'ARG_nam=x; echo "$ARG_nam"', "read ARG_nam; echo \"$ARG_nam\"", "echo '$ARG_nam' # $ARG_nam",
        'for ARG_x in a b; do echo "$ARG_x"; done', '. ./settings; echo "$ARG_nam"', 'echo "$ARGUMENT"',
    ],
)  # fmt: skip
def test_argument_variable_that_is_set_or_not_read_is_allowed(tmp_path: Path, written: str) -> None:
    assert errors(tmp_path, script(written)) == []
