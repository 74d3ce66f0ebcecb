import hashlib
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.call_graph import called_tools
from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.registry import RegisteredTool, RegistryFile, registry_from_json, tool_to_json
from toolc.model.registry_io import canonical, digests, parse, register, registry_bytes
from toolc.model.spec import http_backend, sandbox
from toolc.model.spec.code_backends import Argv, File, PluginBackend, PythonBackend, Script, ShellBackend, WhenGroup
from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend, Step
from toolc.model.spec.tool import (
    EFFECT,
    SURFACE,
    Annotations,
    Expect,
    ProviderChoice,
    ResultSpec,
    Retry,
    Test,
    ToolSpec,
)
from toolc.model.template import Filter, JsonConstant, JsonEntry, JsonList, JsonMap, JsonTemplate, Placeholder, Template

words = st.text(max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | floats | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
placeholders = st.builds(
    Placeholder, words, st.tuples(words) | st.just(()), st.tuples(st.builds(Filter, words, st.none() | words))
)
templates = st.builds(Template, st.lists(words | placeholders, max_size=3).map(tuple))
json_templates: st.SearchStrategy[JsonTemplate] = st.recursive(
    templates | st.builds(JsonConstant, value=st.none() | st.booleans() | st.integers(-9, 9) | floats),
    lambda inner: (
        st.builds(JsonList, items=st.lists(inner, max_size=2).map(tuple))
        | st.builds(JsonMap, entries=st.lists(st.builds(JsonEntry, key=words, value=inner), max_size=2).map(tuple))
    ),
    max_leaves=4,
)
maps = st.builds(JsonMap, entries=st.tuples(st.builds(JsonEntry, key=words, value=json_templates)) | st.just(()))
fields = st.tuples(st.builds(http_backend.Field, name=words, value=templates)) | st.just(())
urls = st.builds(http_backend.Url, scheme=st.just("https"), host=words, port=st.integers(1, 65535), path=templates)
bodies = st.one_of(
    st.builds(http_backend.JsonBody, value=json_templates),
    st.builds(http_backend.FormBody, fields=fields),
    st.builds(
        http_backend.MultipartBody,
        parts=st.tuples(st.builds(http_backend.MultipartPart, name=words, value=templates, is_file=st.booleans())),
    ),
    st.builds(http_backend.TextBody, text=templates),
)
auths = st.one_of(
    st.builds(http_backend.BearerAuth, token=templates),
    st.builds(http_backend.BasicAuth, username=templates, password=templates),
    st.builds(http_backend.ApiKeyAuth, place=st.sampled_from(["header", "query"]), name=words, value=templates),
    st.builds(
        http_backend.OAuth2Auth,
        token_url=urls,
        client_id=templates,
        client_secret=templates,
        audience=st.none() | words,
    ),
)
styles = st.one_of(
    st.builds(http_backend.CursorPages, parameter=words, next=words),
    st.builds(http_backend.CursorPages, pointer=words, next=words),
    st.just(http_backend.LinkPages()),
    st.builds(http_backend.OffsetPages, parameter=words),
    st.builds(http_backend.NumberedPages, parameter=words),
)
backends = st.one_of(
    st.builds(
        http_backend.HttpBackend,
        url=urls | templates,
        query=fields,
        headers=fields,
        body=st.none() | bodies,
        auth=st.none() | auths,
        retry=st.none() | st.builds(http_backend.HttpRetry),
        pagination=st.none() | st.builds(http_backend.Pagination, style=styles, items=st.none() | words),
        errors=st.tuples(st.builds(http_backend.HttpErrorRule, kind=st.just("network"), status=st.none() | words)),
    ),
    st.builds(PluginBackend, command=st.tuples(words), tool=st.none() | words),
    st.builds(
        CompositeBackend,
        strategy=st.sampled_from(["sequential", "parallel", "conditional", "pipeline"]),
        steps=st.tuples(st.builds(Step, id=words, tool=words, args=maps, timeout_ms=st.none() | st.integers(1, 9))),
    ),
    st.builds(AgentBackend, provider=st.just("openai"), model=words, instructions=templates, base_url=urls),
    st.builds(
        ShellBackend,
        command=st.builds(
            Argv,
            elements=st.lists(templates | st.builds(WhenGroup, when=words, argv=st.tuples(templates)), max_size=3).map(
                tuple
            ),
        )
        | st.builds(Script, text=words),
        stdin=st.none() | templates,
        success_exit_codes=st.none() | st.tuples(st.integers(0, 255)),
    ),
    st.builds(PythonBackend, entry=words, function=words, files=st.tuples(st.builds(File, path=words, text=words))),
)
tools = st.builds(
    ToolSpec,
    name=words,
    description=words,
    parameters=st.builds(Schema, st.dictionaries(words, json_values, max_size=3)),
    backend=backends,
    label=st.none() | words,
    annotations=st.builds(Annotations, read_only=st.none() | st.booleans()),
    examples=st.tuples(st.dictionaries(words, json_values, max_size=2)),
    result_schema=st.none() | st.builds(Schema, st.dictionaries(words, json_values, max_size=2)),
    providers=st.tuples(st.builds(ProviderChoice, provider=words, strict=st.booleans())),
    result=st.builds(ResultSpec, files=st.tuples(templates), select=st.none() | words, template=st.none() | words),
    retry=st.none() | st.builds(Retry),
    confirm=st.booleans(),
    sandbox=st.builds(
        sandbox.SandboxSpec,
        build=st.none()
        | st.builds(sandbox.Build, folder=words, files=st.tuples(st.builds(File, path=words, text=words))),
        transaction=st.none() | st.builds(sandbox.TransactionSpec, writes=st.tuples(words)),
        network=st.builds(
            sandbox.NetworkSpec,
            allow=st.tuples(st.builds(sandbox.Destination, kind=st.just("exact"), host=words, port=st.just(443))),
        ),
        secret_env=st.tuples(st.builds(sandbox.SecretEnvVar, name=words, value=templates)),
        secrets=st.tuples(st.builds(sandbox.SecretSpec, name=words, hosts=st.tuples(words))),
        env=st.tuples(st.builds(sandbox.EnvVar, name=words, value=words)),
        limits=st.builds(sandbox.Limits, cpus=st.floats(0.1, 8)),
    ),
    tests=st.tuples(
        st.builds(
            Test,
            args=st.dictionaries(words, json_values, max_size=2),
            expect=st.builds(Expect, json=st.none() | st.tuples(json_values)),
        )
    ),
)


def registered(tool: ToolSpec) -> RegisteredTool:
    found = digests(tool)
    return RegisteredTool(spec=tool, surface_digest=found.surface, effect_digest=found.effect)


def stored(tool: ToolSpec) -> RegistryFile:
    return RegistryFile((registered(tool),))


def small() -> ToolSpec:
    return ToolSpec(
        name="ls",
        description="List.",
        parameters=Schema({"type": "object"}),
        backend=ShellBackend(command=Argv(elements=(Template(("ls",)), Template((Placeholder("path"),))))),
    )


@pytest.mark.slow
@given(tools)
def test_a_registry_round_trips(tool: ToolSpec) -> None:
    """Templates that mean the same (``""`` and no parts, two strings in a row) may come back in one form."""
    once = registry_from_json(parse(canonical(stored(tool).to_json())))
    again = registry_from_json(parse(canonical(once.to_json())))
    assert again == once
    assert canonical(again.to_json()) == canonical(stored(tool).to_json())


@pytest.mark.slow
@given(tools)
def test_stored_entries_form_the_canonical_registry(tool: ToolSpec) -> None:
    made = register(tool)
    assert made == registered(tool)
    assert made.stored == canonical(made.to_json())
    assert registry_bytes(RegistryFile((made, made))) == canonical(RegistryFile((made, made)).to_json())
    assert registry_bytes(stored(tool)) == canonical(stored(tool).to_json())


@pytest.mark.slow
@given(tools, st.dictionaries(st.text(max_size=3), st.booleans(), max_size=4))
def test_toolsets_follow_the_tools_in_canonical_form(tool: ToolSpec, toolsets: dict[str, bool]) -> None:
    named = {name: (tool.name,) if is_in else () for name, is_in in toolsets.items()}
    file = RegistryFile((register(tool),), named)
    assert registry_bytes(file) == canonical(file.to_json())
    assert registry_from_json(parse(registry_bytes(file))).toolsets == named


def test_members_of_a_toolset_are_sorted() -> None:
    one, other = small(), replace(small(), name="cat")
    file = RegistryFile((register(other), register(one)), {"b": ("ls", "cat"), "a": ()})
    assert registry_bytes(file).endswith(b'],"toolsets":{"a":[],"b":["cat","ls"]}}')


def test_a_registry_without_toolsets_has_no_toolsets_key() -> None:
    assert registry_bytes(RegistryFile(())) == b'{"registry":1,"tools":[]}'
    assert registry_from_json(parse(b'{"registry":1,"tools":[]}')).toolsets == {}


@pytest.mark.slow
@given(tools)
def test_a_digest_is_over_the_canonical_bytes_of_its_fields(tool: ToolSpec) -> None:
    fields = tool_to_json(tool)
    for kind, names, found in (("surface", SURFACE, digests(tool).surface), ("effect", EFFECT, digests(tool).effect)):
        value: JsonObject = {"toolc": 1, kind: {name: fields[name] for name in names if name in fields}}
        if kind == "effect" and called_tools(tool):
            value["calls"] = dict.fromkeys(called_tools(tool))
        assert found == f"sha256:{hashlib.sha256(rfc8785.dumps(value)).hexdigest()}"


def test_the_stored_form() -> None:
    assert tool_to_json(small())["backend"] == {
        "shell": {
            "command": {"argv": {"elements": ["ls", [{"name": "path", "keys": [], "filters": []}]]}},
            "stdin": None,
            "success_exit_codes": [0],
            "errors": [],
            "allow_dash": [],
            "progress": False,
        }
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "this is not a toolc registry"),
        ({"tools": []}, "this is not a toolc registry"),
        ({"registry": 2, "tools": []}, "has format 2, but this toolc reads format 1"),
        ({"registry": True, "tools": []}, "has format True, but this toolc reads format 1"),
        ({"registry": 1.0, "tools": []}, "has format 1.0, but this toolc reads format 1"),
        ({"registry": 1}, "has no list of tools"),
        (
            {"registry": 1, "tools": [{"digests": {"surface": "", "effect": "", "more": ""}}]},
            r"tools\[0\].digests has the unknown key 'more'",
        ),
        ({"registry": 1, "tools": [], "extra": 1}, "has the unknown key 'extra'"),
        ({"registry": 1, "tools": [], "toolsets": []}, r"damaged at toolsets: expected an object, found \[\]"),
        ({"registry": 1, "tools": [], "toolsets": {"a": "b"}}, r"damaged at toolsets\.a: expected a list"),
        (
            {"registry": 1, "tools": [], "toolsets": {"a": ["b"]}},
            r"damaged at toolsets\.a\[0\]: expected the name of one of its tools, found 'b'",
        ),
        ({"registry": 1, "tools": [3]}, r"damaged at tools\[0\]: expected an object, found 3"),
    ],
)
def test_invalid_registries_are_rejected(value: JsonValue, message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        registry_from_json(value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("sandbox", "limits", "pids"), "many", r"tools\[0\].sandbox.limits.pids: expected int, found 'many'"),
        (("sandbox", "limits", "pids"), True, "pids"),
        (("privileged",), True, "expected an object with the keys"),
    ],
)
def test_damaged_tools_are_rejected(path: tuple[str, ...], value: JsonValue, message: str) -> None:
    registry: Any = parse(canonical(stored(small()).to_json()))
    damaged = registry["tools"][0]
    for key in path[:-1]:
        damaged = damaged[key]
    damaged[path[-1]] = value
    with pytest.raises(RegistryError, match=message):
        registry_from_json(registry)


def test_a_public_value_is_stored_with_its_reason() -> None:
    public = Template(("pk_live_1",), public="a publishable key")
    tool = replace(small(), backend=ShellBackend(command=Argv(elements=(public,))))
    assert '{"public":"pk_live_1","reason":"a publishable key"}' in register(tool).stored.decode()


def test_only_tools_without_an_effect_digest_are_host_defined() -> None:
    assert not register(small()).is_host_defined
    assert RegisteredTool(spec=small(), surface_digest="", effect_digest="").is_host_defined


def test_a_tool_is_found_by_its_name() -> None:
    assert stored(small()).get("ls") == registered(small())
    assert stored(small()).get("rm") is None


def test_a_field_that_is_stored_if_set_changes_no_other_digest() -> None:
    unset = ToolSpec(
        name="a",
        description="b",
        parameters=Schema({"type": "object"}),
        backend=ShellBackend(command=Argv(elements=())),
    )
    backend = tool_to_json(unset)["backend"]
    assert "runs_caller_code" not in str(backend)
    value = ShellBackend(command=Argv(elements=()), runs_caller_code=True)
    registry = RegistryFile((register(replace(unset, backend=value)),))
    assert registry_from_json(parse(registry_bytes(registry))).tools[0].spec.backend == value
    assert digests(replace(unset, backend=value)).effect != digests(unset).effect


def test_preloaded_modules_are_stored_only_if_there_are_some() -> None:
    backend = PythonBackend(entry="a.py", function="a", files=(File(path="a.py", text="def a(): pass\n"),))
    unset = ToolSpec(name="a", description="d", parameters=Schema({"type": "object"}), backend=backend)
    assert "preload" not in str(tool_to_json(unset))
    value = replace(unset, backend=replace(backend, preload=("json", "xml.dom")))
    registry = RegistryFile((register(value),))
    assert registry_from_json(parse(registry_bytes(registry))).tools[0].spec == value
    assert digests(value).effect != digests(unset).effect
