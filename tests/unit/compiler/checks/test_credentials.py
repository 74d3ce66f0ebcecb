"""Literal credentials (TC605): an error wherever a credential belongs, and no command prints one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc import Registry, SpecError
from toolc.cli.main import cli
from toolc.compiler.pipeline.compile import compile_specs

HEAD = "toolc: 1\nname: hello\ndescription: Say hello to the whole world, in a friendly way.\nparameters: {}\n"
VALUE = "Zq7vK-hunter2x"
PLUGIN = HEAD + "backend: {plugin: {command: [a]}}\n"
SHELL = HEAD + "backend: {shell: {argv: [a]}}\n"
URL = "https://api.github.com/x"


def http(*lines: str, url: str = URL) -> str:
    return HEAD + "\n".join(["backend:", "  http:", f"    url: {url}", *(f"    {line}" for line in lines)]) + "\n"


def found(folder: Path, text: str, name: str = "tool.yaml") -> list[str]:
    """Return the messages of TC605, and the codes of the other errors."""
    (folder / name).write_text(text, encoding="utf-8")
    findings = compile_specs([folder / name]).diagnostics.sorted()
    return [each.message if each.code.number == "TC605" else each.code.number for each in findings if each.is_error]


PLACES = [
    ("auth.bearer", http(f"auth: {{bearer: {VALUE}}}")),
    ("auth.bearer", http(f'auth: {{bearer: "Bearer {VALUE}"}}')),
    ("auth.basic.password", http(f"auth: {{basic: {{username: me, password: {VALUE}}}}}")),
    ("auth.api_key.value", http(f"auth: {{api_key: {{header: X-Key, value: {VALUE}}}}}")),
    (
        "auth.oauth2.client_secret",
        http(f"auth: {{oauth2: {{token_url: {URL}, client_id: a, client_secret: {VALUE}}}}}"),
    ),
    ("the header 'Authorization'", http(f"headers: {{Authorization: Bearer {VALUE}}}")),
    ("the header 'authorization'", http(f"headers: {{authorization: token {VALUE}}}")),
    ("the header 'X-API-Key'", http(f"headers: {{X-API-Key: {VALUE}}}")),
    ("the header 'PRIVATE-TOKEN'", http(f"headers: {{PRIVATE-TOKEN: {VALUE}}}")),
    ("the query field 'api_key'", http(f"query: {{api_key: {VALUE}}}")),
    ("'access_token' in url", http(url=f"{URL}?a=1&access_token={VALUE}")),
    ("the field 'client_secret'", http(f"body: {{form: {{client_secret: {VALUE}}}}}", "method: POST")),
    ("the field 'password'", http(f"body: {{json: {{user: {{password: {VALUE}}}}}}}", "method: POST")),
    ("the variable 'GITHUB_TOKEN'", PLUGIN + f"sandbox: {{env: {{GITHUB_TOKEN: {VALUE}}}}}\n"),
    ("the variable 'DB_PASSWORD'", SHELL + f"sandbox: {{env: {{DB_PASSWORD: {VALUE}}}}}\n"),
    ("the variable 'DB'", SHELL + f"sandbox: {{env: {{DB: 'pg://me:{VALUE}@db.example.com/x'}}}}\n"),
    ("an item of command", HEAD + f"backend: {{plugin: {{command: [a, --api-key={VALUE}]}}}}\n"),
    ("an item of command", HEAD + f"backend: {{plugin: {{command: [a, --token, {VALUE}]}}}}\n"),
    ("an item of argv", HEAD + f"backend: {{shell: {{argv: [curl, -H, 'Authorization: Bearer {VALUE}']}}}}\n"),
    ("an item of argv", HEAD + f"backend: {{shell: {{argv: [curl, -u, 'me:{VALUE}', a.example.com]}}}}\n"),
    ("an item of argv", HEAD + f"backend: {{shell: {{argv: [git, clone, 'https://me:{VALUE}@a.example.com/x']}}}}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "text"), PLACES)
def test_a_literal_credential_is_an_error_that_shows_the_secret_to_declare(
    tmp_path: Path, what: str, text: str
) -> None:
    assert found(tmp_path, text) == [f"{what} is a literal credential"]
    (finding,) = [each for each in compile_specs([tmp_path]).diagnostics.sorted() if each.code.number == "TC605"]
    assert "secrets: {" in finding.hint


@pytest.mark.parametrize(("what", "text"), PLACES)
@pytest.mark.parametrize("options", [["text"], ["json"], ["sarif"], ["github"], ["junit"]])
def test_no_format_prints_a_credential(tmp_path: Path, what: str, text: str, options: list[str]) -> None:
    (tmp_path / "tool.yaml").write_text(text.replace("description: Say", "descripton: Say"), encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(tmp_path), "--format", *options])
    assert result.exit_code == 1, what
    assert "TC605" in result.output
    assert VALUE not in result.output


@pytest.mark.parametrize("command", [["list"], ["show", "hello"], ["build"], ["run", "hello"], ["test"]])
def test_no_command_prints_a_credential(tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tool.yaml").write_text(http(f"auth: {{bearer: {VALUE}}}"), encoding="utf-8")
    name, *rest = command
    arguments = [name, *rest, *(["--specs", "."] if name == "run" else ["."])]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code != 0
    assert VALUE not in result.output
    assert not any(
        VALUE.encode() in file.read_bytes()
        for file in tmp_path.rglob("*")
        if file.name != "tool.yaml" and file.is_file()
    )


def test_a_diff_of_other_fixes_does_not_show_a_credential(tmp_path: Path) -> None:
    path = tmp_path / "tool.yaml"
    token = "ghp_" + "a8Kd93jfLq0Zx7Vb2Nm5Ty6Ui1Op4Wr3Es8Q"
    path.write_text(HEAD + f"backend: {{shell: {{argv: [a, {token}], stdni: b}}}}\n", encoding="utf-8")
    diff = CliRunner().invoke(cli, ["check", "--unsafe-fixes", "--diff", str(path)]).output
    assert "+backend: {shell: {argv: [a, " in diff
    assert token not in diff


@pytest.mark.parametrize(
    "text",
    [
        http("headers: {X-API-Key: 12345}"),
        http('headers: {X-API-Key: "12345"}'),
        http("headers: {X-API-Key: AKIAIOSFODNN7EXAMPLE}"),
        http("auth: {bearer: sk_test_4eC39HqLyjWDarjtT1zdp7dc}"),
        http("query: {api_key: DEMO_KEY, page_token: abc, key: title, token_type: bearer}"),
        http("headers: {Idempotency-Key: abc, X-CSRF-Token: fetch, Cookie: lang=en, X-Cache-Key: a1b2c3d4e5f6a7b8c9}"),
        http('auth: {bearer: "{{ secrets.T }}"}') + "sandbox: {secrets: {T: {hosts: [api.github.com]}}}\n",
        http('auth: {basic: {username: me, password: "{{ secrets.T }}"}}')
        + "sandbox: {secrets: {T: {hosts: [api.github.com]}}}\n",
        http('headers: {Authorization: "Token token={{ secrets.T }}"}')
        + "sandbox: {secrets: {T: {hosts: [api.github.com]}}}\n",
        HEAD + "backend: {plugin: {command: [a, --secret=name, --token-file, x, --password-stdin, --key=id]}}\n"
        "sandbox: {env: {API_KEY_FILE: /run/key, TOKEN: /run/secrets/t, USE_TOKEN: 'true', MAX_TOKEN: '5'}}\n",
        HEAD + "backend: {shell: {argv: [psql, 'postgres://me:pw@localhost/x']}}\n",
        http('auth: {bearer: "{{ token }}"}').replace("parameters: {}", "parameters: {token: {type: string}}"),
    ],
)  # fmt: skip
def test_numbers_paths_booleans_and_published_examples_are_exempt(tmp_path: Path, text: str) -> None:
    assert not [each for each in found(tmp_path, text) if "credential" in each]


@pytest.mark.parametrize("value", ["changeme", "YOUR_API_KEY", "<token>", "xxxx"])
def test_a_placeholder_for_a_credential_is_an_error(tmp_path: Path, value: str) -> None:
    assert found(tmp_path, http(f'auth: {{bearer: "{value}"}}')) == ["auth.bearer is a literal credential"]


def test_a_reference_to_an_environment_variable_is_an_error(tmp_path: Path) -> None:
    assert found(tmp_path, http('auth: {bearer: "${TOKEN}"}')) == [
        "auth.bearer is a reference to an environment variable, which toolc does not expand"
    ]


def test_a_user_name_and_a_password_in_a_url_are_an_error_and_not_printed(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(http(url=f"https://me:{VALUE}@api.github.com/x"), encoding="utf-8")
    output = CliRunner().invoke(cli, ["check", str(tmp_path)]).output
    assert "TC605: a URL cannot contain a user name or password" in output
    assert VALUE not in output


@pytest.mark.parametrize(
    "text",
    [
        http(f"auth: {VALUE}"),
        http(f"auth: {{token: {VALUE}}}"),
        http(f"auth: {{type: bearer, token: {VALUE}}}"),
        http(f"auth: {{basic: {VALUE}}}"),
        http(f"auth: {{bearer: {VALUE}}}").replace("toolc: 1", "toolc: 2"),
        http(f"auth: {{bearer: {VALUE}").replace("toolc: 1", "toolc: 1"),
        http(f"headers: {{X-API-Key: '{VALUE}}}"),
        http(f"auth: {{bearer: {VALUE}}}", f"auth: {{bearer: {VALUE}}}"),
        http(f"auth: {{bearer: {VALUE}}}").replace("parameters: {}", "parameters: 4"),
        http("headers: {A: b}") + f"sandbox: {{secrets: {{TOKEN: {VALUE}}}}}\n",
        HEAD + f"backend: {{agent: {{provider: openai, model: a, instructions: b, api_key: {VALUE}}}}}\n",
    ],
)
def test_a_damaged_spec_does_not_print_a_credential(tmp_path: Path, text: str) -> None:
    (tmp_path / "tool.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(tmp_path)])
    assert result.exit_code == 1
    assert VALUE not in result.output


def test_a_token_elsewhere_is_a_warning_that_is_not_printed(tmp_path: Path) -> None:
    token = "ghp_" + "a8Kd93jfLq0Zx7Vb2Nm5Ty6Ui1Op4Wr3Es8Q"
    (tmp_path / "tool.yaml").write_text(HEAD + f"backend: {{shell: {{script: 'use {token}'}}}}\n", encoding="utf-8")
    output = CliRunner().invoke(cli, ["check", str(tmp_path)]).output
    assert "warning TC601" in output
    assert token not in output


def test_the_error_of_the_library_and_the_cache_do_not_contain_a_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    specs = tmp_path / "specs"
    specs.mkdir()
    for name in ("a", "b"):
        text = http(f"auth: {{bearer: {VALUE}}}").replace("name: hello", f"name: {name}")
        (specs / f"{name}.yaml").write_text(text, encoding="utf-8")
        os.utime(specs / f"{name}.yaml", (1, 1))
    plugin = HEAD.replace("hello", "c") + f"backend: {{plugin: {{command: [a, --token, {VALUE}]}}}}\n"
    (specs / "c.yaml").write_text(plugin, encoding="utf-8")
    os.utime(specs / "c.yaml", (1, 1))
    with pytest.raises(SpecError) as raised:
        Registry.load(specs)
    assert VALUE not in str(raised.value)
    for _ in range(2):
        assert VALUE not in CliRunner().invoke(cli, ["check", str(specs)]).output
    CliRunner().invoke(cli, ["build", str(specs), "--out", str(tmp_path / "out")])
    assert not any(VALUE.encode() in file.read_bytes() for file in cache.rglob("*") if file.is_file())


def test_a_public_value_is_part_of_the_effect_digest_and_of_the_review(tmp_path: Path) -> None:
    def build(name: str, value: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "tool.yaml").write_text(http(f"headers: {{X-API-Key: {value}}}"), encoding="utf-8")
        CliRunner().invoke(cli, ["build", str(folder), "--out", str(folder / "out")])
        registry = json.loads((folder / "out" / "registry.json").read_text(encoding="utf-8"))
        return str(registry["tools"][0]["digests"]["effect"])

    digests = {
        build("none", "12345"),
        build("one", "{public: pk_live_1, reason: Only for searches}"),
        build("two", "{public: pk_live_2, reason: Only for searches}"),
        build("three", "{public: pk_live_2, reason: Documented as public}"),
    }
    assert len(digests) == 4
    first = CliRunner().invoke(cli, ["diff", str(tmp_path / "none"), str(tmp_path / "one")]).output
    assert "high RSK19: a credential is declared public in backend.http.headers.X-API-Key: Only for searches" in first
    assert "pk_live_1" in first
    second = CliRunner().invoke(cli, ["diff", str(tmp_path / "one"), str(tmp_path / "two")]).output
    assert "high RSK19: the public credential in backend.http.headers.X-API-Key has another value" in second
    third = CliRunner().invoke(cli, ["diff", str(tmp_path / "two" / "out" / "registry.json"), str(tmp_path / "three")])
    assert "low RSK19: the public credential in backend.http.headers.X-API-Key has another reason" in third.output


def test_a_public_value_that_looks_like_a_token_is_not_reported(tmp_path: Path) -> None:
    key = "AIza" + "SyD4kQ9x2Lm7Rt5Vb8Nc1Zw3Ye6Uo0Pi2Kf"
    text = http(f"query: {{key: {{public: {key}, reason: Restricted to our sites}}}}")
    (tmp_path / "tool.yaml").write_text(text, encoding="utf-8")
    assert "TC601" not in [each.code.number for each in compile_specs([tmp_path]).diagnostics.sorted()]
    assert found(tmp_path, http(f"query: {{key: {key}}}")) == ["the query field 'key' is a literal credential"]


@pytest.mark.parametrize("value", ["{public: a}", "{public: '', reason: b}", "{public: a, reason: b, c: d}"])
def test_a_public_value_needs_a_reason(tmp_path: Path, value: str) -> None:
    assert found(tmp_path, http(f"headers: {{X-API-Key: {value}}}")) != []


def test_a_credential_that_was_removed_is_not_printed(tmp_path: Path) -> None:
    for name, value in (("old", VALUE), ("new", '"{{ secrets.T }}"')):
        (tmp_path / name).mkdir()
        text = http(f"auth: {{bearer: {value}}}") + "sandbox: {secrets: {T: {hosts: [api.github.com]}}}\n"
        (tmp_path / name / "tool.yaml").write_text(text, encoding="utf-8")
    for style in ("text", "markdown", "json", "sarif", "github"):
        output = (
            CliRunner().invoke(cli, ["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--format", style]).output
        )
        assert "bearer" in output or style in {"sarif", "github"}
        assert VALUE not in output


def test_a_credential_that_is_a_word_hides_the_word_only_in_its_place(tmp_path: Path) -> None:
    text = http("auth: {basic: {username: root, password: admin}}").replace(
        "parameters: {}", "parameters:\n  admin: {type: string, description: 'The admin of the thing, as lamp.'}"
    )
    (tmp_path / "other.yaml").write_text("toolc: 1\nname: admin\ndescription: x\nbackend: {shell: {argv: [date]}}\n")
    (tmp_path / "tool.yaml").write_text(text)
    result = CliRunner().invoke(cli, ["check", str(tmp_path)]).output
    assert "the parameter 'admin' is not used" in result
    assert "admin: {type: string" in result
    assert "password: *****}}" in result
    assert "password: admin" not in result


@pytest.mark.parametrize("value", ["hunt3r", "correct-horse", "Tr0ub4dor"])
def test_another_credential_is_hidden_in_all_files(tmp_path: Path, value: str) -> None:
    text = http(f"auth: {{basic: {{username: root, password: {value}}}}}")
    other = f"toolc: 1\nname: other\ndescription: Say {value}\nbackend: {{shell: {{argv: [date], {value}: 1}}}}\n"
    (tmp_path / "other.yaml").write_text(other)
    (tmp_path / "tool.yaml").write_text(text)
    assert value not in CliRunner().invoke(cli, ["check", str(tmp_path)]).output


SCRIPTS = [
    f"curl -H 'Authorization: Bearer {VALUE}' a.example.com | cat", f'curl -H "X-API-Key: {VALUE}" a.example.com | cat',
    f"curl -u me:{VALUE} a.example.com | cat", f"mycli --token={VALUE} | cat",
    "export API_TOKEN=Zq7pL2vXw9Kd4TnB8sYr3HgM6cJf1AeU; mycli", "API_KEY=Zq7pL2vXw9Kd4TnB8sYr3HgM6cJf1AeU mycli | cat",
]  # fmt: skip


@pytest.mark.parametrize("line", SCRIPTS)
def test_a_credential_in_a_command_of_a_script_is_an_error(tmp_path: Path, line: str) -> None:
    text = HEAD + f"backend:\n  shell:\n    script: |\n      {line}\n"
    assert len(found(tmp_path, text)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "date -u +%H:%M | cat", "sort -u a:b | cat", "docker run -u 1000:1000 alpine | cat", "token=next; mycli",
        'curl -H "Authorization: Bearer $TOKEN" a.example.com | cat', "gh auth token | cat", "PASSWORD= mycli | cat",
        "KEY=value env | cat",
    ],
)  # fmt: skip
def test_a_script_without_a_credential_has_no_error(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, HEAD + f"backend:\n  shell:\n    script: |\n      {line}\n") == []


@pytest.mark.parametrize("argv", ["[date, -u, '+%H:%M']", "[docker, run, -u, 'app:staff', alpine]"])
def test_an_option_u_of_another_program_has_no_error(tmp_path: Path, argv: str) -> None:
    assert found(tmp_path, HEAD + f"backend: {{shell: {{argv: {argv}}}}}\n") == []


IMAGE = SHELL + "sandbox: {build: image}\n"
TOKEN = "ghp_a8Fk2LmQ9zXc4Vb7Nn1Rt6Yw3Pd5Sg0HjKe2"


def findings_in_dockerfile(folder: Path, *lines: str) -> list[str]:
    (folder / "image").mkdir()
    (folder / "image/Dockerfile").write_text("\n".join(["ARG BASE", "FROM ${BASE}", *lines]) + "\n", encoding="utf-8")
    (folder / "tool.yaml").write_text(IMAGE, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [
        f"{each.code.number} {each.span.start.line}:{each.span.start.column}"
        for each in found
        if each.code.number[:3] == "TC6"
    ]


@pytest.mark.parametrize(
    "line",
    [f"ENV TOKEN={TOKEN}", f"ARG TOKEN={TOKEN}", f'env A=b \\\n  DB_PASSWORD="{VALUE}"', f"ENV DB_PASSWORD {VALUE}"],
)
def test_a_credential_in_a_variable_of_a_dockerfile_is_an_error_at_its_place(tmp_path: Path, line: str) -> None:
    (found,) = findings_in_dockerfile(tmp_path, line)
    at = (line.rindex(TOKEN if TOKEN in line else VALUE) - (line.rfind("\n") + 1)) + 1
    assert found == f"TC605 {3 + line.count(chr(10))}:{at}"


def test_a_text_that_looks_like_a_token_elsewhere_in_an_image_is_a_warning(tmp_path: Path) -> None:
    assert findings_in_dockerfile(tmp_path, f"RUN echo {TOKEN} > /x") == ["TC601 3:10"]


@pytest.mark.parametrize(
    "line", ["ARG TOKEN", "ENV TOKEN=$BASE", "ENV TOKEN_FILE=/run/a", "ENV PATH=/a:$PATH A=b", "# ENV PASSWORD=x"]
)
def test_other_variables_of_a_dockerfile_are_not_reported(tmp_path: Path, line: str) -> None:
    assert findings_in_dockerfile(tmp_path, line) == []


@pytest.mark.parametrize(
    "words",
    [
        f"mysql, -uroot, -p{VALUE}",
        f"/usr/bin/mysqldump, -p{VALUE}, db",
        f"redis-cli, -a, {VALUE}",
        f"sshpass, -p, {VALUE}, ssh, a",
        f"curl, -ume:{VALUE}, a.example.com",
    ],
)
def test_passwords_in_short_options_of_known_programs_are_found(tmp_path: Path, words: str) -> None:
    assert found(tmp_path, HEAD + f"backend: {{shell: {{argv: [{words}]}}}}\n") == [
        "an item of argv is a literal credential"
    ]
    script = words.replace(",", "") + "; true"
    assert found(tmp_path, HEAD + f'backend: {{shell: {{script: "{script}"}}}}\n') == [
        "a word of the script is a literal credential"
    ]
    output = CliRunner().invoke(cli, ["check", str(tmp_path)]).output
    assert "TC605" in output
    assert VALUE not in output


@pytest.mark.parametrize("words", [f"wget, '--header=X-Api-Key: {VALUE}'", f"curl, '-HAuthorization: Bearer {VALUE}'"])
def test_headers_in_the_same_word_as_their_option_are_found(tmp_path: Path, words: str) -> None:
    message = ["an item of argv is a literal credential"]
    assert found(tmp_path, HEAD + f"backend: {{shell: {{argv: [{words}, a.example.com]}}}}\n") == message


def test_the_same_credential_in_two_lines_of_a_script_has_two_positions(tmp_path: Path) -> None:
    value = "f3b1c9d2a7e84a55b6c1"
    lines = f"      export API_KEY={value}\n      curl -H 'Authorization: Bearer {value}' a.example.com\n"
    path = tmp_path / "tool.yaml"
    path.write_text(f"{HEAD}backend:\n  shell:\n    script: |\n{lines}", encoding="utf-8")
    reported = [each for each in compile_specs([path]).diagnostics.sorted() if each.code.number == "TC605"]
    starts = [each.span.start for each in reported]
    assert [start.line for start in starts] == [starts[0].line, starts[0].line + 1]


@pytest.mark.parametrize(
    "words",
    ["mysql, -p, db", "mkdir, -p, some/folder", "mysql, -P, '3306'", "redis-cli, -h, example.org", "cp, -pRx1y2z3, a"],
)
def test_other_short_options_are_not_passwords(tmp_path: Path, words: str) -> None:
    assert found(tmp_path, HEAD + f"backend: {{shell: {{argv: [{words}]}}}}\n") == []
