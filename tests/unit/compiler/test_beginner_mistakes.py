"""Mistakes of authors who know other formats: one finding, whose hint names the fix."""

from pathlib import Path

import pytest

from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings
from toolc.document.suggestions import OPENAI

HEAD = "toolc: 1\nname: greet\ndescription: Greet a person by name. Use it once per person.\n"
SHELL = "backend: {shell: {argv: [echo, hi]}}\n"
PLUGIN = "backend: {plugin: {command: [/bin/cat]}}\n"


def errors(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [(each.message, each.hint) for each in found if each.is_error]


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ("type: str", "did you mean 'string'?"), ("type: file", "did you mean 'string'?"),
        ("type: String", "did you mean 'string'?"), ("type: tuple", "did you mean 'array'?"),
        ("type: 'string[]'", "write type: array, and items: {type: string}"),
        ("type: 'List[str]'", "write type: array, and items: {type: string}"),
        ("type: number?", "write type: number, and optional: true"),
        ("type: 'Optional[int]'", "write type: integer, and optional: true"),
        ("type: 'str | None'", "write type: [string, 'null']"),
        ("type: any", "remove 'type': a schema without it accepts any value"),
        ("type: datetime", "write type: string, and format: date-time"),
        ("type: enum", "write type: string, and list the values under enum"),
        ("type: string, desc: Name", "write description"), ("type: string, help: Name", "write description"),
        ("type: string, choices: [a]", "write enum: [...]"), ("type: string, regex: a", "write pattern"),
        ("type: string, enum: 'a, b'", "write enum: [a, b]"), ("type: string, enum: a", "write enum: [a]"),
        ("type: object, properties: {a: {}}, required: a", "write required: [a]"),
        (
            "type: string, description: A name, for example Ada",
            "put the whole text before it in quotes if the ',' is part of that text",
        ),
    ],
)  # fmt: skip
def test_a_schema_of_another_format_has_a_hint(tmp_path: Path, schema: str, hint: str) -> None:
    found = errors(tmp_path, f"{HEAD}parameters:\n  name: {{{schema}}}\n{PLUGIN}")
    assert [each[1] for each in found] == [hint]


@pytest.mark.parametrize(
    ("rest", "hint"),
    [
        ("sandbox: {workspace: readonly}\n", "write ro"), ("sandbox: {workspace: read-write}\n", "write rw"),
        ("sandbox: {workspace: yes}\n", "write ro to let a call read the files, rw to let it change them"),
        ("sandbox: {env: [MODE=fast]}\n", "write env: {MODE: fast}"),
        ("sandbox: {environment: {A: b}}\n", "write 'env'"),
        (
            "sandbox: {volumes: ['./a:/a']}\n",
            "write workspace: ro, or rw to change files; a call can access no other folder of this machine",
        ),
        ("sandbox: {resources: {}}\n", "write e.g. limits: {memory: 512MiB, cpus: 1}"),
        ("tests: [{args: {}, expect: hi}]\n", 'write expect: {text: "..."}'),
        ("tests: [{args: {}, expect: {contains: hi}}]\n", "write matches: ... (a regular expression)"),
        ("tests: [{input: {}}]\n", "write 'args'"),
        ("tests:\n  first:\n    args: {}\n", "write '- ' instead of 'first:', for each item"),
        ("parameters: []\n", "write {}, or remove the key"),
    ],
)  # fmt: skip
def test_a_section_of_another_format_has_a_hint(tmp_path: Path, rest: str, hint: str) -> None:
    assert [each[1] for each in errors(tmp_path, HEAD + SHELL + rest)] == [hint]


def test_a_tool_below_a_key_is_one_finding(tmp_path: Path) -> None:
    indented = "".join(f"  {line}\n" for line in (HEAD + SHELL).splitlines() if not line.startswith("toolc"))
    assert errors(tmp_path, f"toolc: 1\ntool:\n{indented}") == [
        ("the spec has no key 'tool'", "write the keys below 'tool' at the top level, next to 'toolc'")
    ]


def test_a_map_of_tools_by_name_has_a_hint(tmp_path: Path) -> None:
    text = "toolc: 1\ntools:\n  greet:\n    description: Greet.\n"
    assert errors(tmp_path, text)[0][1] == "write '- name: greet' instead of 'greet:', for each item"


def test_required_among_the_parameters_has_a_hint(tmp_path: Path) -> None:
    ((_, hint),) = errors(tmp_path, f"{HEAD}parameters: {{name: {{type: string}}, required: [name]}}\n{PLUGIN}")
    assert hint == "remove it: a parameter is required unless it has a 'default' or 'optional: true'"


@pytest.mark.parametrize(("written", "right"), [("name: string", "string"), ("name: int", "integer")])
def test_a_parameter_that_is_only_a_type_has_a_hint(tmp_path: Path, written: str, right: str) -> None:
    ((_, hint),) = errors(tmp_path, f"{HEAD}parameters: {{{written}}}\n{PLUGIN}")
    assert hint == f"write name: {{type: {right}}}"


def test_names_with_other_characters_have_a_hint(tmp_path: Path) -> None:
    ((_, hint),) = errors(tmp_path, HEAD.replace("greet", "greet a person") + SHELL)
    assert hint.startswith("write greet_a_person; ")
    ((_, hint),) = errors(tmp_path, f"{HEAD}parameters: {{user-name: {{type: string}}}}\n{PLUGIN}")
    assert hint.startswith("write user_name; ")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("{type: str}", "{type: string}"), ("{type: 'int'}", "{type: 'integer'}"),
        ("{type: string, desc: A}", "{type: string, description: A}"),
        ("{type: string, choices: [a]}", "{type: string, enum: [a]}"),
        ("{type: string, example: [a]}", "{type: string, examples: [a]}"),
        ("{type: string, example: a}", None), ("{type: string, desc: A, description: B}", None),
        ("{type: 'str[]'}", None),
    ],
)  # fmt: skip
def test_schemas_of_other_formats_are_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, right: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tool.yaml").write_text(f"{HEAD}parameters:\n  name: {written}\n{PLUGIN}", encoding="utf-8")
    files = [*apply_fixes([Path("tool.yaml")], Settings(), unsafe=True)]
    assert [f"  name: {right}\n" in each.after.decode() for each in files] == [True] * (right is not None)


@pytest.mark.parametrize("written", ["${SERVICE_KEY}", "$SERVICE_KEY", "${{ secrets.SERVICE_KEY }}", "%SERVICE_KEY%"])
def test_a_reference_to_an_environment_variable_has_the_secret_to_declare(tmp_path: Path, written: str) -> None:
    http = f"{{method: GET, url: 'https://a.example.com/', headers: {{Authorization: 'Bearer {written}'}}}}"
    found = errors(tmp_path, f"{HEAD}backend: {{http: {http}}}\n")
    assert len(found) == 1
    assert "sandbox: {secrets: {SERVICE_KEY: {hosts: [a.example.com]}}}" in found[0][1]
    assert "revoke" not in found[0][1]


def test_an_undeclared_secret_of_a_command_has_its_declaration(tmp_path: Path) -> None:
    found = errors(tmp_path, f"{HEAD}{PLUGIN}sandbox: {{env: {{A: '{{{{ secrets.KEY }}}}'}}}}\n")
    assert "declare it: sandbox: {secrets: {KEY: {expose: env}}}" in [hint for _, hint in found]


def test_fix_of_a_placeholder_of_github_actions_removes_its_dollar_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = "backend: {shell: {argv: [echo, '${{ inputs.name }}']}}\n"
    Path("tool.yaml").write_text(f"{HEAD}parameters: {{name: {{type: string}}}}\n{shell}", encoding="utf-8")
    (file,) = apply_fixes([Path("tool.yaml")], Settings(), unsafe=True)
    assert "[echo, '{{ name }}']" in file.after.decode()


def findings(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [(each.code.number, each.hint) for each in found]


WHEN = "write {when: NAME, argv: [...]} for arguments that depend on a parameter"
INDENT = "indent the lines below it further if they are its keys"
GREET = HEAD + "parameters:\n  who: {type: string, description: 'Who is greeted, such as Ada.'}\n"
ARGV = "backend: {shell: {argv: [echo, --, '{{ who }}']}}\n"
PYTHON = """\
backend:
  python:
    requirements: [{}]
    code: |
      import yaml
      def greet(who):
          return who
"""


@pytest.mark.parametrize(
    ("text", "number", "hint"),
    [
        (f"{GREET}{ARGV}".replace("toolc: 1", "version: 1"), "TC102", "write toolc: 1 instead of version: 1"),
        (f"{GREET}{ARGV}".replace("toolc: 1", "version: '1'"), "TC102", "write toolc: 1 instead of version: 1"),
        (f"{GREET}handler: main.greet\n", "TC101", "write backend: {python: {file: NAME.py, function: NAME}}"),
        (f"{GREET}script: echo\n", "TC101", "write backend: {shell: {script: ...}}"),
        (f"{GREET}{ARGV}secrets: {{A: {{}}}}\n", "TC101", "in a tool, 'secrets' belongs under sandbox"),
        (
            f"{GREET}{ARGV}requirements: [a]\n",
            "TC101",
            "in a tool, 'requirements' belongs under backend.python",
        ),
        (
            f'{GREET}backend:\n  shell:\n  script: echo "$ARG_who"\n',
            "TC108",
            "indent it further than 'shell'",
        ),
        (
            f"{GREET}backend:\n  python:\n  code: |\n    def greet(who):\n        return who\n",
            "TC108",
            "indent it further than 'python'",
        ),
        (f"{GREET}{PYTHON.format('pyyaml')}", "TC108", "pin it, as in pyyaml==1.2.3"),
        (
            f"{GREET}{PYTHON.format('yaml')}",
            "TC108",
            "the package of the module 'yaml' is pyyaml: write pyyaml==1.2.3",
        ),
        (
            f"{GREET}{ARGV}tests:\n  - args: {{name: Ada}}\n    expect: {{text: a}}\n",
            "TC802",
            "write 'who', which is missing",
        ),
        (
            f"{GREET}{ARGV}sandbox: {{image: 'https://hub.docker.com/_/python'}}\n",
            "TC108",
            "write the name of the image instead, such as python:VERSION",
        ),
        (
            f"{GREET}{ARGV}sandbox: {{network: {{allow: ['*']}}}}\n",
            "TC108",
            "name each host, as in api.example.com:443; public:443 allows every public address",
        ),
        (
            f"{GREET}{ARGV}sandbox: {{network: {{allow: ['*:443']}}}}\n",
            "TC108",
            "name each host, as in api.example.com:443; public:443 allows every public address",
        ),
        (
            f"{HEAD}parameters:\n{SHELL}",
            "TC108",
            f"{INDENT}; write parameters: {{}} for a tool without parameters",
        ),
        ("toolc: 1\ntype: function\nfunction:\n  name: a\n  description: b\n", "TC108", OPENAI),
    ],
)  # fmt: skip
def test_one_mistake_is_one_finding(tmp_path: Path, text: str, number: str, hint: str) -> None:
    assert findings(tmp_path, text) == [(number, hint)]


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        ('["echo -n {{ who }}"]', 'write argv: [echo, -n, "{{ who }}"], or script: ...'),
        ('[echo, "{{ who }}", "&&", date]', "write script: ..., which a shell runs"),
        ('[echo, "{{ who }}", "|", wc]', "write script: ..., which a shell runs"),
        ('[echo, "{% if who %}a{% endif %}", "{{ who }}"]', WHEN),
        ('[echo, "{{ who | default(1) }}"]', "give the parameter a default: write default: VALUE next to its type"),
    ],
)  # fmt: skip
def test_argv_is_not_read_by_a_shell_or_by_jinja(tmp_path: Path, argv: str, hint: str) -> None:
    assert [each[1] for each in errors(tmp_path, f"{GREET}backend: {{shell: {{argv: {argv}}}}}\n")] == [hint]


@pytest.mark.parametrize(
    "argv", ['[grep, "|", "{{ who }}"]', '["/opt/My App/run", "{{ who }}"]', '[find, "{{ who }}", ";"]']
)
def test_ordinary_arguments_are_not_reported(tmp_path: Path, argv: str) -> None:
    assert errors(tmp_path, f"{GREET}backend: {{shell: {{argv: {argv}}}}}\n") == []


def test_a_function_with_a_map_of_all_arguments_is_one_finding(tmp_path: Path) -> None:
    code = "backend:\n  python:\n    code: |\n      def greet(args):\n          return args['who']\n"
    hint = "write def greet(who), or def greet(**args)"
    assert [each[1] for each in errors(tmp_path, f"{GREET}{code}")] == [hint]


def test_a_definition_for_openai_is_recognized(tmp_path: Path) -> None:
    function = '{"name": "a", "description": "b", "parameters": {"type": "object", "properties": {}}}'
    assert [each[1] for each in errors(tmp_path, f'{{"type": "function", "function": {function}}}')] == [OPENAI]
