"""Each key that is often written in the wrong place, or comes from another format, has a hint with the right one."""

import pytest

from toolc.document.nodes import Scalar
from toolc.document.suggestions import unknown_key, value_hint
from toolc.model.source import SourceText
from toolc.model.spec.code_backends import ShellBackend
from toolc.model.spec.declared import keys_of
from toolc.model.spec.http_backend import AuthKeys
from toolc.model.spec.sandbox import SecretSpec
from toolc.model.spec.tool import Backends, Test, ToolSpec

PLACES = """
backend: shell python http plugin composite agent
backend.shell: argv script stdin interpreter success_exit_codes
sandbox: image network env secrets workspace limits lifetime
"""

MEANT = """
ToolSpec: argv command cmd exec run -> write backend: {shell: {argv: [...]}}
Backends: api https method request rest url -> write http: {method: GET, url: ...}
ShellBackend: args cmd code command commands entrypoint exec run sh
    -> write argv: [...] for one program, or script: ... for shell code
AuthKeys: access_token token -> write bearer: "{{ secrets.TOKEN }}"
SecretSpec: env from from_env key source value
    -> write {hosts: [api.example.com]}, and let the user who runs the tool set the value of the secret
"""


def rows(table: str, separator: str) -> list[tuple[str, str, str]]:
    """Return the map, the key and the hint for each key of a table."""
    lines = (line.partition(": ") for line in table.strip().replace("\n    ", " ").splitlines())
    parts = ((place, *rest.partition(separator)) for place, _, rest in lines)
    return [(place, key, hint) for place, keys, _, hint in parts for key in keys.split()]


CLASSES = {
    each.__name__: each
    for each in (
        AuthKeys, Backends, SecretSpec,
        ShellBackend, Test, ToolSpec,
    )
}  # fmt: skip


@pytest.mark.parametrize(("cls", "key", "hint"), rows(MEANT, " -> "))
def test_a_key_of_another_format_has_a_hint(cls: str, key: str, hint: str) -> None:
    assert unknown_key(key, CLASSES[cls], {each.name for each in keys_of(CLASSES[cls])}, "a.yaml") == hint


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, key, _ in rows(PLACES, " -> ")])
def test_a_key_in_the_wrong_place_has_a_hint(place: str, key: str) -> None:
    assert unknown_key(key, None, set(), "a.yaml") == f"in a tool, '{key}' belongs under {place}"


@pytest.mark.parametrize("key", ["aliases", "owner", "retry", "tags", "version", "deprecated", "confirm"])
def test_a_key_of_the_tool_belongs_next_to_its_name(key: str) -> None:
    assert unknown_key(key, None, (), "a.yaml") == f"'{key}' is a key of the tool: write it indented like its 'name'"
    assert unknown_key(key, None, (), "a.toml") == (f"'{key}' is a key of the tool: write it above the first [table]")
    assert unknown_key(key, None, (), "toolc.yaml") == ""


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("yes", "write true"), ("ON", "write true"), ("true", "write true"), (1, "write true"), ("no", "write false"),
        ("off", "write false"), (0, "write false"), ("maybe", ""), (2, ""),
        (None, "give it a value, or remove the key"),
    ],
)  # fmt: skip
def test_another_word_for_a_boolean_has_a_hint(value: str | int | None, hint: str) -> None:
    assert value_hint(Scalar(value, SourceText("a.yaml", "").whole_file()), None, "true or false") == hint
