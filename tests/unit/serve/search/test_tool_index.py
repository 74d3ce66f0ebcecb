"""Tools are found by words of their names, descriptions and parameters, and by synonyms; the best come first."""

from dataclasses import replace

from calls.fake_tools import tool

from toolc.model.json_schema import JsonObject, Schema
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.serve.search.tool_index import ToolIndex


def named(name: str, description: str, *, read_only: bool | None = None, **parameters: str) -> ToolSpec:
    properties: JsonObject = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = Schema({"type": "object", "properties": properties})
    hints = Annotations(read_only=read_only)
    return replace(tool(name), label=None, description=description, parameters=schema, annotations=hints)


def found(query: str, *tools: ToolSpec) -> list[str]:
    return [each.name for each in ToolIndex(tools).search(query)]


CLOSE = named("issues_close", "Close an issue.", read_only=False)
LIST = named("issues_list", "List issues.", read_only=True, label="Only issues with this marker")
WEATHER = named("get_forecast", "Return the weather of the next days.", city="The town, e.g. Rome")


def test_a_tool_without_a_word_of_the_query_is_not_found() -> None:
    assert found("weather", CLOSE, LIST, WEATHER) == ["get_forecast"]
    assert found("zyx", CLOSE, LIST, WEATHER) == []
    assert found("", CLOSE) == []
    assert ToolIndex([]).search("weather") == []


def test_parameters_and_synonyms_count() -> None:
    assert found("marker", CLOSE, LIST, WEATHER) == ["issues_list"]
    assert found("town", CLOSE, LIST, WEATHER) == ["get_forecast"]
    assert found("bug tickets", WEATHER, CLOSE)[0] == "issues_close"


def test_a_word_counts_more_than_its_synonym_and_more_in_a_name_than_in_a_description() -> None:
    erase, remove = named("erase_file", "It acts on a file."), named("remove_file", "It acts on a file.")
    assert found("erase file", remove, erase)[0] == "erase_file"
    other = named("other", "First. Second. It mentions invoices in passing.")
    assert found("invoices", other, named("invoices", "Billing."))[0] == "invoices"


def test_a_query_for_a_change_prefers_tools_that_change_something() -> None:
    get = named("get_label", "A label of an issue.", read_only=True)
    edit = named("put_label", "A label of an issue.", read_only=False)
    assert found("labels of an issue", edit, get)[0] == "get_label"
    assert found("edit the labels of an issue", get, edit)[0] == "put_label"


def test_sentences_that_many_descriptions_share_do_not_count() -> None:
    note = "Administrators need the admin scope."
    tools = [named(f"tool{letter}", f"Does {letter}. {note}") for letter in "abcde"]
    assert found("administrators", *tools[:3]) != []
    assert found("administrators", *tools) == []


def test_a_word_that_no_tool_has_finds_similar_ones() -> None:
    assert found("wether", CLOSE, WEATHER) == ["get_forecast"]


def test_neighbours_in_a_label_count_and_a_deprecated_tool_comes_last() -> None:
    apart = replace(tool("one"), label="Rotate the key of a deploy job")
    together = replace(tool("two"), label="Rotate the deploy key of a job")
    assert found("rotate a deploy key", apart, together) == ["two", "one"]
    assert found("rotate a deploy key", replace(together, deprecated="Use one."), together)[0] == "two"
