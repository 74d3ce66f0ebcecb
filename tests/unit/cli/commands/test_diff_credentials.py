"""``toolc diff`` never prints a credential that a change removes, in no format."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

from toolc.model.registry import RegistryFile
from toolc.model.registry_io import register, registry_bytes
from toolc.model.spec.http_backend import HttpBackend
from toolc.review.sources.states import state_of

SECRET = "hunter2-Zq81xVb7"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HTTP = """\
toolc: 1
name: fetch
label: Fetch
description: Fetch a record by its number. Use it for records, not for lists of records.
parameters:
  number: {type: integer, description: The number of the record.}
annotations: {read_only: true}
backend:
  http:
    url: https://api.example.com/v1/{{ number }}
sandbox: {network: {allow: [api.example.com:443]}}
"""
LONG = "x " * 200

CASES = {
    "header": HTTP.replace("    url:", f"    headers: {{Authorization: 'Bearer {SECRET}'}}\n    url:"),
    "own header": HTTP.replace("    url:", f"    headers: {{X-Api-Key: {SECRET}}}\n    url:"),
    "basic": HTTP.replace("    url:", f"    auth: {{basic: {{username: bob, password: {SECRET}}}}}\n    url:"),
    "bearer": HTTP.replace("    url:", f"    auth: {{bearer: {SECRET}}}\n    url:"),
    "userinfo": HTTP.replace("https://api", f"https://bob:{SECRET}@api"),
    "query": HTTP.replace("{{ number }}", f"{{{{ number }}}}?api_key={SECRET}"),
    "query map": HTTP.replace("    url:", f"    query: {{access_token: {SECRET}}}\n    url:"),
    "json body": HTTP.replace("    url:", f"    method: POST\n    body: {{json: {{password: {SECRET}}}}}\n    url:"),
    "environment": f"{PLAIN}sandbox: {{env: {{API_TOKEN: {SECRET}}}}}\n",
    "argv": PLAIN.replace("echo, --", f"curl, --password, {SECRET}, --"),
    "argv option": PLAIN.replace("echo, --", f"curl, --token={SECRET}, --"),
    "argv header": PLAIN.replace("echo, --", f"curl, -H, 'Authorization: Bearer {SECRET}', --"),
    "default": PLAIN.replace(
        "  name:", f"  password: {{type: string, default: {SECRET}, description: The word.}}\n  name:"
    ),
    "script": PLAIN.replace(
        'argv: [echo, --, "{{ name }}"]', f"script: |\n      export PASSWORD={TOKEN}\n      echo hi"
    ),
    "code": PLAIN.replace("shell:", "python:").replace(
        'argv: [echo, --, "{{ name }}"]', f"code: |\n      TOKEN = '{TOKEN}'\n      def run(name): return TOKEN"
    ),
    "description": PLAIN.replace("Look a thing", f"Use the token {TOKEN}. Look a thing"),
    "long description": PLAIN.replace("Look a thing", f"{LONG} token {TOKEN} {LONG}. Look a thing"),
    "enum": PLAIN.replace("maxLength: 50", f"enum: [lamp, '{TOKEN}']"),
    "long enum": PLAIN.replace("maxLength: 50", f"enum: [lamp, '{LONG}{TOKEN}', '{TOKEN}{LONG}']"),
    "long default": PLAIN.replace("maxLength: 50", f"default: '{LONG}{TOKEN}'"),
    "pattern": PLAIN.replace("maxLength: 50", f"pattern: '^{TOKEN}$'"),
    "const": PLAIN.replace("maxLength: 50", f"const: '{TOKEN}'"),
    "private key": PLAIN.replace(
        'argv: [echo, --, "{{ name }}"]',
        f"script: |\n      cat <<E\n      -----BEGIN RSA PRIVATE KEY-----\n      MIIEpAIBAAKCAQEA\n      {SECRET}\n"
        "      -----END RSA PRIVATE KEY-----\n      E\n",
    ),
    "key": PLAIN.replace("  name:", f"  '{TOKEN}': {{type: string, description: The word.}}\n  name:"),
    "example": f"{PLAIN}examples: [{{name: '{TOKEN}'}}]\n",
    "test": f"{PLAIN}tests: [{{args: {{name: '{TOKEN}'}}, expect: {{text: '{TOKEN}'}}}}]\n",
    "tag": f"{PLAIN}tags: ['{TOKEN}']\n",
    "comment": f"# toolc: ignore[TC204] the token is {TOKEN}\n{PLAIN}",
}


def leaks(printed: str) -> list[str]:
    """Return the parts of the credentials, of eight characters, that a text contains."""
    parts = [each[at : at + 8] for each in (SECRET, TOKEN[4:]) for at in range(len(each) - 7)]
    return [part for part in parts if part in printed]


SOME = (("--format", "markdown"), ("--format", "json"))
OTHERS = (("--format", "text"), ("--format", "sarif"), ("--format", "github"), ("--summary",))


@pytest.mark.parametrize("formats", [SOME, pytest.param(OTHERS, marks=pytest.mark.integrations)], ids=["some", "all"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kept", [False, True], ids=["removed", "changed"])
def test_no_format_prints_a_removed_credential(
    repository: Repository, case: str, formats: tuple[tuple[str, ...], ...], *, kept: bool
) -> None:
    clean = HTTP if CASES[case].startswith(HTTP[:30]) else PLAIN
    base = repository.commit({"a.yaml": CASES[case], "toolc.yaml": ""})
    repository.write({"a.yaml": CASES[case].replace(SECRET, "x").replace(TOKEN, "x") if kept else clean})
    for options in formats:
        found = diff(base, *options)
        assert leaks(found.stdout + found.stderr) == [], (options, found.stdout)


def test_no_format_prints_a_credential_of_a_registry(repository: Repository) -> None:
    repository.write({"specs/a.yaml": HTTP.replace("    url:", f"    headers: {{X-Trace: {SECRET}}}\n    url:")})
    with state_of("./specs", []) as state:
        spec = state.tools["fetch"].spec
    assert isinstance(spec.backend, HttpBackend)
    headers = (replace(spec.backend.headers[0], name="X-Api-Key"),)
    registry = RegistryFile(tools=(register(replace(spec, backend=replace(spec.backend, headers=headers))),))
    Path("old.json").write_bytes(registry_bytes(registry))
    repository.write({"specs/a.yaml": HTTP})
    for name in ("text", "markdown", "json", "sarif", "github"):
        found = diff("old.json", "./specs", "--format", name)
        assert "RSK" in found.stdout, found
        assert leaks(found.stdout + found.stderr) == [], (name, found.stdout)
