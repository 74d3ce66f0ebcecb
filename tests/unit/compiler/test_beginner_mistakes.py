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
        ("type: any", "remove 'type', because a schema without it accepts any value"),
        ("type: datetime", "write type: string, and format: date-time"),
        ("type: enum", "write type: string, and list the values under enum"),
        ("type: string, desc: Name", "write description"), ("type: string, help: Name", "write description"),
        ("type: string, choices: [a]", "write enum: [...]"), ("type: string, regex: a", "write pattern"),
        ("type: string, enum: 'a, b'", "write enum: [a, b]"), ("type: string, enum: a", "write enum: [a]"),
        ("type: object, properties: {a: {}}, required: a", "write required: [a]"),
        (
            "type: string, description: A name, for example Ada",
            "if the ',' before it is part of a text, put the whole text in quotes",
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
        ("tests: [{args: {}, expect: hi}]\n", 'write e.g. expect: {text: "2 notes.md"}'),
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
        ('[echo, "{{ who | default(1) }}"]', "give the parameter a default, with default: VALUE next to its type"),
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


REQUEST = "backend: {http: {method: POST, url: 'https://a.example.com/x'"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{REQUEST}, auth: {{type: bearer, token: 5}}}}}}\n",
         'the kind is a key: write bearer: "{{ secrets.TOKEN }}"'),
        (f"{REQUEST}, auth: {{type: basic, username: 5, password: 5}}}}}}\n",
         'the kind is a key: write basic: {username: USER, password: "{{ secrets.PASSWORD }}"}'),
        (f"{REQUEST}, body: {{title: a, size: 1}}}}}}\n", "write body: {json: {title: ...}}"),
        ("backend: {type: shell, command: date}\n", "the kind is a key: write shell: {argv: [...]}"),
        ("backend: {shell: {entrypoint: [a], cmd: [b]}}\n",
         "write argv: [...] for one program, or script: ... for shell code"),
        (f"{SHELL}sandbox: {{secrets: {{TOKEN: {{env: MY_TOKEN}}}}}}\n",
         "write {hosts: [api.example.com]}, and let the user who runs the tool set the value of the secret"),
        (f"secrets: {{T: {{hosts: [a.example.com]}}}}\n{REQUEST}, auth: {{bearer: '{{{{ secrets.T }}}}'}}}}}}\n",
         "in a tool, 'secrets' belongs under sandbox"),
        (f"parameters:\n  - {{name: city, type: string}}\n{SHELL}",
         'write one key for each: {city: {type: string, description: "..."}}'),
        (f"{SHELL}sandbox: {{limits: {{cpus: 500m}}}}\n", "write 0.5"),
        ("backend: {python: {code: 'def greet(): pass', requirements: requirements.txt}}\n",
         "copy the lines of requirements.txt: write [requests==2.32.3, ...]"),
        ("parameters: {a: {}, b: {}}\nbackend: {python: {code: 'def greet(x, y): pass'}}\n",
         "write def greet(a, b), or rename the parameters"),
        (f"parameters: {{a: {{}}, b: {{}}}}\n{PLUGIN}examples: [{{args: {{a: 1, b: 2}}}}]\n",
         "write {a: ..., b: ...}, without 'args'"),
        ("backend: {http: {method: GET, url: api.example.com/v1}}\n", "write https://api.example.com/v1"),
        ("backend: {http: {method: GET, url: '${API_BASE}/v1'}}\n",
         "write the host, or {{ vars.API_BASE }} and vars: {API_BASE: https://...} in toolc.yaml"),
        ("parameters: {a: {}}\nbackend: {http: {method: GET, url: 'https://a.example.com/x?q={{ a }}'}}\n",
         'use query: {q: "{{ a }}"}, which encodes the value'),
        (f"{REQUEST}, headers: {{A: '{{{{ lookup(\"env\", \"KEY\") }}}}'}}}}}}\n",
         "for a secret, write {{ secrets.KEY }} and declare it under sandbox.secrets"),
        ("parameters: {a: {type: boolean}}\nbackend: {shell: {argv: [ls, \"{{ '-a' if a else '' }}\"]}}\n",
         'write {when: a, argv: [...]} in argv, or a script that tests "$ARG_a"'),
        ("parameters: {a: {}}\nbackend: {shell: {argv: [echo, '{% for x in a %}{{ x }}{% endfor %}']}}\n",
         "write {when: NAME, argv: [...]} for arguments that depend on a parameter"),
        (f"parameters: {{a: {{}}}}\n{REQUEST}, body: {{text: '{{% for x in a %}}{{{{ x }}}}{{% endfor %}}'}}}}}}\n",
         "write {{ a }}, which inserts the whole list as JSON"),
        ("backend: {shell: {argv: [docker, ps, --format, '{{.Names}}']}}\n",
         "if it is text for the program, write {{ '{{.Names}}' }}"),
        ("backend: {shell: {argv: [docker, ps, --format, '{{json .Ports}}']}}\n",
         "if it is text for the program, write {{ '{{json .Ports}}' }}"),
    ],
)  # fmt: skip
def test_one_mistake_is_one_finding_whose_hint_is_what_to_write(tmp_path: Path, text: str, hint: str) -> None:
    found = errors(tmp_path, HEAD + text)
    assert [each[1] for each in found[:1]] == [hint]
    expected = 2 if "argv: [echo, '{% for" in text else 1  # the name that the loop declares is unknown as well
    assert len(found) == expected


@pytest.mark.parametrize("key", ["desc", "doc", "docs", "docstring", "help", "summary"])
def test_another_name_of_the_description_is_one_finding(tmp_path: Path, key: str) -> None:
    (tmp_path / "tool.yaml").write_text(f"toolc: 1\nname: greet\n{key}: Greet a person.\n{PLUGIN}", encoding="utf-8")
    found = [
        each for each in compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted() if each.code.number != "TC208"
    ]
    assert [each.hint for each in found if "backend" not in each.message] == ["write 'description'"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("type: function\nfunction: {name: a, description: b, parameters: {type: object}}\n", OPENAI),
        ("name: a\ndescription: b\ninputSchema: {type: object}\n", "this is an MCP file"),
    ],
)
def test_a_definition_of_another_format_in_a_folder_is_one_error(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "tool.yaml").write_text(text, encoding="utf-8")
    found = [each for each in compile_specs([tmp_path]).diagnostics.sorted() if each.is_error]
    assert [each.hint.startswith(hint) for each in found] == [True]


def test_the_fix_of_an_unknown_environment_variable_declares_the_secret(tmp_path: Path) -> None:
    path = tmp_path / "tool.yaml"
    path.write_text(f"{HEAD}{REQUEST}, headers: {{A: '{{{{ env.KEY }}}}'}}}}}}\n", encoding="utf-8")
    (tmp_path / "fixed.yaml").write_bytes(next(iter(apply_fixes([path], Settings(), unsafe=True))).after)
    assert not [each for each in compile_specs([tmp_path / "fixed.yaml"]).diagnostics.sorted() if each.is_error]
    assert "secrets: {KEY: {hosts: [a.example.com]}}" in (tmp_path / "fixed.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["values", "options", "choices"])
def test_type_enum_with_a_list_is_one_error_with_a_fix(tmp_path: Path, key: str) -> None:
    text = f"{HEAD}parameters:\n  name: {{type: enum, {key}: [a, b], description: A kind of name}}\n{PLUGIN}"
    ((_, hint),) = errors(tmp_path, text)
    assert hint == f"write type: string, and enum instead of {key}: enum: [...]"
    (file,) = apply_fixes([tmp_path / "tool.yaml"], Settings(), unsafe=True)
    fixed = file.after.decode()
    assert "{type: string, enum: [a, b], description" in fixed
    assert errors(tmp_path, fixed) == []


def test_type_enum_with_numbers_is_one_error(tmp_path: Path) -> None:
    ((_, hint),) = errors(tmp_path, f"{HEAD}parameters:\n  name: {{type: enum, values: [1, 2]}}\n{PLUGIN}")
    assert hint == "write enum instead of values: enum: [...]; remove the type"


def test_properties_without_type_object_are_one_error(tmp_path: Path) -> None:
    parameters = "parameters: {properties: {name: {type: string, description: A name}}}\n"
    ((_, hint),) = errors(tmp_path, HEAD + parameters + "backend: {shell: {argv: [echo, '{{ name }}']}}\n")
    assert (
        hint
        == "write 'type: object' next to 'properties', and list the names that each call must have under 'required'"
    )


def test_code_with_a_value_and_input_is_one_error(tmp_path: Path) -> None:
    parameters = "parameters: {x: {type: string, description: A name}}\n"
    script = 'backend:\n  shell:\n    script: |\n      ls | xargs -I % sh -c "$ARG_x %"\n'
    ((_, hint),) = errors(tmp_path, HEAD + parameters + script)
    assert 'reads the value as "$ARG_x"; for input, pass it as an argument, as in sh -c' in hint
