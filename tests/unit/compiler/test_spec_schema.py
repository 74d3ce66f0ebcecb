"""The schema of specs and the decoder accept the same keys and values."""

import copy
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiling.places import load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from project.data_files import load_yaml
from project.paths import ROOT, TEST_SPECS

from toolc.compiler.editor_schema import spec_schema
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.files import PROJECT_FILES
from toolc.compiler.project.variables import IDENTITY
from toolc.data.rule_pages import EXAMPLE, RulePage, rule_pages
from toolc.document.nodes import to_json
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.spec.schema_keywords import KEYWORDS

SPECS = TEST_SPECS
SAMPLES = load_yaml("format-samples")
SCHEMA: Any = spec_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
OLDER = Draft7Validator(SCHEMA)
UNKNOWN = "zzz"

VALUES_AS_MAPS = {
    frozenset({"public", "reason"}), frozenset({"value", "style", "explode", "allow_reserved"}),
}  # fmt: skip

READ_BEFORE = {"toolc", "optional", "from"}
"""Keys that the decoder removes before it reads the map that has them."""

Route = tuple[str | int, ...]


def files(*folders: Path) -> list[Path]:
    found = (path for folder in folders for path in folder.rglob("*") if path.suffix in {".yaml", ".toml"})
    # The variables of templates become part of a project file, and manifests of deployments are not specs.
    others = {*PROJECT_FILES, "vars.yaml", "kubernetes.yaml"}
    return sorted(path for path in found if path.name not in others)


GOOD = files(SPECS / "positive", ROOT / "specs", ROOT / "docs")
BAD = files(SPECS / "negative")


def value_of(path: Path) -> Any:
    document = load(path, path.name, Diagnostics())
    return to_json(document.root) if document else None


def found_in(value: object, folder: Path) -> tuple[Diagnostic, ...]:
    path = folder / "mutated.yaml"  # JSON is YAML
    path.write_text(json.dumps(value), encoding="utf-8")
    return compile_specs([path]).diagnostics.sorted()


def is_structural(found: Diagnostic) -> bool:
    """Return whether a finding is about a key, or about the type of a value, at one place."""
    if found.code.number in {"TC101", "TC704"}:
        return True
    return found.code.number == "TC108" and re.search(r"must be .*, but is ", found.message) is not None


def routes(value: Any, route: Route = ()) -> Iterator[Route]:
    yield route
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in children:
        yield from routes(inner, (*route, key))


def at(value: Any, route: Route) -> Any:
    for step in route:
        value = value[step]
    return value


def with_value(value: Any, route: Route, new: Any) -> Any:
    if not route:
        return new
    changed = copy.deepcopy(value)
    at(changed, route[:-1])[route[-1]] = new
    return changed


@pytest.mark.parametrize("path", GOOD, ids=lambda path: str(path.relative_to(ROOT)))
def test_good_specs_are_valid_for_the_schema(path: Path) -> None:
    assert [each.message for each in VALIDATOR.iter_errors(value_of(path))] == []


@pytest.mark.parametrize("page", [page for page in rule_pages().values() if page.good], ids=lambda page: page.number)
def test_good_examples_of_pages_are_valid_for_the_schema(page: RulePage, tmp_path: Path) -> None:
    path = tmp_path / EXAMPLE
    path.write_text(page.good, encoding="utf-8", errors="surrogateescape")
    assert [each.message for each in VALIDATOR.iter_errors(value_of(path))] == []


@pytest.mark.parametrize("sample", SAMPLES)
def test_schema_and_decoder_accept_samples(sample: dict[str, object], tmp_path: Path) -> None:
    assert [each.message for each in VALIDATOR.iter_errors(sample)] == []
    assert [each.message for each in found_in(sample, tmp_path) if each.is_error] == []


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_schema_and_decoder_reject_the_same_specs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    value = value_of(path)
    if value is not None:
        agree(value, compile_specs([path]).diagnostics.sorted())


def agree(value: object, found: tuple[Diagnostic, ...]) -> None:
    refused = [f"{each.json_path}: {each.message[:300]}" for each in VALIDATOR.iter_errors(value)]
    structural = [each.message for each in found if is_structural(each)]
    if refused:
        assert any(each.is_error for each in found), f"only the schema refuses it: {refused}"
    if structural:
        assert refused, f"only the decoder refuses it: {structural}"


def places() -> Iterator[tuple[Any, Route]]:
    """Yield each place in the samples; of places with the same keys and value only the first."""
    seen: set[str] = set()
    for sample in SAMPLES:
        for route in routes(sample):
            place = json.dumps([route[-3:], at(sample, route)])
            if route and place not in seen:
                yield sample, route
            seen.add(place)


WRONG: tuple[object, ...] = (None, 7, "zzz", [], {"zzz": 1})


@pytest.mark.slow
def test_schema_and_decoder_agree_on_one_invalid_value_at_each_place(tmp_path: Path) -> None:
    for (sample, route), wrong in zip(places(), itertools.cycle(WRONG), strict=False):
        value = with_value(sample, route, wrong)
        agree(value, found_in(value, tmp_path))


@pytest.mark.integrations
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_schema_and_decoder_agree_on_invalid_values(wrong: object, tmp_path: Path) -> None:
    for sample, route in places():
        value = with_value(sample, route, wrong)
        agree(value, found_in(value, tmp_path))


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 700), st.just(1.5), st.sampled_from(["", "zzz", "1s"]))
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(["a", "mode", "type"]), SCALARS, max_size=2)
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    value: Any = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        route = draw(st.sampled_from([*routes(value)]))
        what = draw(st.sampled_from(["replace", "add", "remove"]))
        here = at(value, route)
        if what == "replace" and route:
            value = with_value(value, route, draw(VALUES))
        elif what == "add" and isinstance(here, dict):
            value = with_value(value, route, {**here, draw(st.sampled_from(["zzz", "x-y", "tools"])): draw(VALUES)})
        elif what == "remove" and isinstance(here, dict) and here:
            gone = draw(st.sampled_from(sorted(here)))
            value = with_value(value, route, {key: inner for key, inner in here.items() if key != gone})
    return value


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(value=mutated())
def test_schema_and_decoder_agree_on_mutated_specs(value: Any, tmp_path: Path) -> None:
    agree(value, found_in(value, tmp_path))
    assert VALIDATOR.is_valid(value) == OLDER.is_valid(value), "an editor that reads draft 7 judges otherwise"


def closed_maps(schema: Any) -> Iterator[frozenset[str]]:
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is False and "properties" in schema:
            yield frozenset(schema["properties"])
        for inner in schema.values():
            yield from closed_maps(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from closed_maps(inner)


def keys_in_schema(errors: Iterator[ValidationError], route: Route) -> set[frozenset[str]]:
    """Return the keys that the schema allows at a place where it refuses another."""
    keys: set[frozenset[str]] = set()
    for error in errors:
        if error.validator == "additionalProperties" and tuple(error.absolute_path) == route:
            assert isinstance(error.schema, dict)
            keys.add(frozenset(error.schema["properties"]))
        keys |= keys_in_schema(iter(error.context or ()), route)
    return keys


def keys_in_decoder(found: tuple[Diagnostic, ...]) -> set[frozenset[str]]:
    """Return the keys that the decoder lists in its hint when it refuses another key."""
    keys: set[frozenset[str]] = set()
    for each in found:
        if each.code.number == "TC101" and f"no keyword '{UNKNOWN}'" in each.message:
            keys.add(frozenset(KEYWORDS))
        elif each.code.number == "TC101" and f"'{UNKNOWN}'" in each.message:
            keys.add(frozenset(re.findall(r"'([^']*)'", each.hint)))
    return keys


@pytest.mark.slow
def test_the_schema_has_exactly_the_keys_that_the_decoder_reads(tmp_path: Path) -> None:
    reached: set[frozenset[str]] = set()
    for sample in SAMPLES:
        for route in routes(sample):
            here = at(sample, route)
            if not isinstance(here, dict) or route[:1] == ("defaults",):
                continue  # defaults are read as a part of each tool
            value = with_value(sample, route, {**here, UNKNOWN: 1})
            in_schema = keys_in_schema(VALIDATOR.iter_errors(value), route)
            # Other forms of a value, which this one is not.
            in_schema -= {keys for keys in VALUES_AS_MAPS if not {"public", "value"} & keys & {*here}}
            in_decoder = keys_in_decoder(found_in(value, tmp_path))
            assert {keys - READ_BEFORE for keys in in_schema} == {keys - READ_BEFORE for keys in in_decoder}, route
            reached |= in_schema
    tool, defaults = (frozenset(SCHEMA["$defs"][name]["properties"]) for name in ("tool", "defaults"))
    assert set(closed_maps(SCHEMA)) - reached == {defaults}
    assert defaults == tool - set(IDENTITY)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_constant_of_the_project_can_replace_any_text_or_number(sample: dict[str, object]) -> None:
    for route in routes(sample):
        scalar = not isinstance(at(sample, route), dict | list)
        if scalar and route != ("toolc",) and not {"parameters", "schema"} & set(route):
            value = with_value(sample, route, "{{ vars.a }}")
            assert [each.message for each in VALIDATOR.iter_errors(value)] == [], route


@pytest.mark.parametrize("keyword", ["minimum", "minLength", "uniqueItems", "type", "default", "pattern"])
def test_a_constant_of_the_project_can_replace_a_value_in_a_parameter(keyword: str) -> None:
    value = {"toolc": 1, "name": "a", "parameters": {"b": {keyword: "{{ vars.a }}"}}}
    assert [each.message for each in VALIDATOR.iter_errors(value)] == []
