"""Each key that is often written in the wrong place, or comes from another format, has a hint with the right one."""

import pytest

from toolc.document.nodes import Scalar
from toolc.document.suggestions import unknown_key, value_hint
from toolc.model.source import SourceText

PLACES = """
backend: shell python http plugin composite agent
backend.shell: argv script stdin interpreter success_exit_codes
backend.python: code function requirements
backend.http: url method headers query body auth pagination
backend.composite: steps strategy
backend.agent: provider model instructions max_turns
sandbox: image network env secrets workspace limits lifetime
sandbox.limits: timeout memory cpus pids
annotations: read_only destructive idempotent open_world
result: format select template
"""

MEANT = """
the tool: argv command cmd exec run -> write backend: {shell: {argv: [...]}}
the tool: script -> write backend: {shell: {script: ...}}
the tool: code -> write backend: {python: {code: ...}}
the tool: url -> write backend: {http: {url: ...}}
the tool: entry_point entrypoint file function handler module coroutine func
    -> write backend: {python: {file: NAME.py, function: NAME}}
the tool: runs -> write backend: {shell: {argv: [...]}}
the tool: strict -> write providers: {openai_chat: {strict: true}}
the tool: vars -> write 'vars' in the project file toolc.yaml
the tool: steps -> write backend: {composite: {strategy: sequential, steps: [...]}}
'backend': bash cmd command exec process run sh -> write shell: {argv: [...]} for one program, or shell: {script: ...}
'backend': argv -> write shell: {argv: [...]}
'backend': script -> write shell: {script: ...}
'backend': code -> write python: {code: ...}
'backend': function py python3 requirements -> write python: {code: ...} or python: {file: NAME.py}
'backend': api https method request rest url -> write http: {method: GET, url: ...}
'backend': kind type -> the kind is a key: write e.g. shell: {argv: [...]}
backend.shell: args cmd code command commands entrypoint exec run sh
    -> write argv: [...] for one program, or script: ... for shell code
the tool: type -> remove it, because every spec declares a tool
'auth': kind scheme type -> the kind is a key: write bearer: "{{ secrets.TOKEN }}"
'auth': access_token token -> write bearer: "{{ secrets.TOKEN }}"
'auth': login pass password user username -> write basic: {username: USER, password: "{{ secrets.PASSWORD }}"}
'auth': apikey header in key name value -> write api_key: {header: X-API-Key, value: "{{ secrets.API_KEY }}"}
secrets.TOKEN: env from from_env key source value
    -> write {hosts: [api.example.com]}, and let the user who runs the tool set the value of the secret
backend.python: argv body command inline script source -> write code: ... with a function, or file: NAME.py
backend.python: filename module path -> write file: NAME.py
backend.python: entry_point entrypoint handler -> write file: NAME.py, and function: NAME
backend.python: dependencies packages pip -> write requirements: [...]
backend.http: endpoint uri -> write 'url'
backend.http: params query_params -> write 'query'
backend.http: data json payload -> write body: {json: ...}
'x': desc doc docs docstring help summary -> write 'description'
'x': title displayName display_name -> write 'label'
'x': id -> write 'name'
'x': inputSchema input_schema input inputs args arguments -> write 'parameters'
'x': outputSchema output_schema returns -> write result: {schema: ...}
'x': stdout output -> write 'text'
'x': system system_prompt prompt -> write 'instructions'
'x': max_iterations max_steps -> write 'max_turns'
'x': max_completion_tokens max_output_tokens -> write 'max_tokens'
'x': endpoint api_base -> write 'base_url'
'x': apiKey auth -> write 'api_key'
"""


def rows(table: str, separator: str) -> list[tuple[str, str, str]]:
    """Return the map, the key and the hint for each key of a table."""
    lines = (line.partition(": ") for line in table.strip().replace("\n    ", " ").splitlines())
    parts = ((place, *rest.partition(separator)) for place, _, rest in lines)
    return [(place, key, hint) for place, keys, _, hint in parts for key in keys.split()]


@pytest.mark.parametrize(("what", "key", "hint"), rows(MEANT, " -> "))
def test_a_key_of_another_format_has_a_hint(what: str, key: str, hint: str) -> None:
    allowed = {*hint.replace("'", " ").replace(":", " ").split()} if what == "'x'" else set()
    assert unknown_key(key, what, allowed, "a.yaml") == hint


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, key, _ in rows(PLACES, " -> ")])
def test_a_key_in_the_wrong_place_has_a_hint(place: str, key: str) -> None:
    assert unknown_key(key, "'x'", set(), "a.yaml") == f"in a tool, '{key}' belongs under {place}"


@pytest.mark.parametrize("key", ["aliases", "owner", "retry", "tags", "version", "deprecated", "confirm"])
def test_a_key_of_the_tool_belongs_next_to_its_name(key: str) -> None:
    assert unknown_key(key, "'x'", (), "a.yaml") == f"'{key}' is a key of the tool: write it indented like its 'name'"
    assert unknown_key(key, "'x'", (), "a.toml") == (f"'{key}' is a key of the tool: write it above the first [table]")
    assert unknown_key(key, "'x'", (), "toolc.yaml") == ""


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("yes", "write true"), ("ON", "write true"), ("true", "write true"), (1, "write true"), ("no", "write false"),
        ("off", "write false"), (0, "write false"), ("maybe", ""), (2, ""),
        (None, "give it a value, or remove the key"),
    ],
)  # fmt: skip
def test_another_word_for_a_boolean_has_a_hint(value: str | int | None, hint: str) -> None:
    assert value_hint(Scalar(value, SourceText("a.yaml", "").whole_file()), "'x'", "true or false") == hint
