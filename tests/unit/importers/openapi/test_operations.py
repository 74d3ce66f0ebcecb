"""Which operations are imported, and the names of their tools."""

import json

import pytest

from toolc.importers.openapi.operations import MAX_NAME, Choice, Operation, names_of, operations, selected
from toolc.importers.openapi.source import Document
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject


def found(paths: JsonObject) -> list[Operation]:
    return operations(Document.of(json.dumps({"openapi": "3.1.0", "paths": paths}).encode(), "a.json", str.encode))


PATHS: JsonObject = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets", ""]},
        "post": {"operationId": "createPet", "tags": ["pets"]},
    },
    "/users/{id}": {"delete": {"tags": ["users"]}, "get": {"operationId": "users/get-by-id"}},
}


@pytest.mark.parametrize(
    ("choice", "keys"),
    [
        (Choice(), ["GET /pets", "POST /pets", "GET /users/{id}", "DELETE /users/{id}"]),
        (Choice(only=("pets",)), ["GET /pets", "POST /pets"]),
        (Choice(only=("listPets", "DELETE /users/*")), ["GET /pets", "DELETE /users/{id}"]),
        (Choice(only=("users_get*",)), ["GET /users/{id}"]),
        (Choice(exclude=("pets", "users")), ["GET /users/{id}"]),
        (Choice(is_read_only=True), ["GET /pets", "GET /users/{id}"]),
    ],
)
def test_operations_are_chosen_by_tag_name_or_pattern(choice: Choice, keys: list[str]) -> None:
    assert [each.key for each in selected(found(PATHS), choice)] == keys


def test_a_choice_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="no operation matches 'pet'"):
        selected(found(PATHS), Choice(only=("pet",)))


def test_more_than_sixty_operations_need_a_choice() -> None:
    many = found({f"/a{index}": {"get": {"tags": ["a" if index < 50 else "b"]}} for index in range(61)})
    with pytest.raises(UsageError, match=r"has 61 operations.*\n +50  a\n +11  b"):
        selected(many, Choice())
    assert len(selected(many, Choice(is_all=True))) == 61
    assert len(selected(many, Choice(only=("b",)))) == 11


def test_names_come_from_the_operation_and_fit() -> None:
    long = "getTheVeryLongNameOfAnOperationThatNobodyWouldTypeTwice"
    operations = found(PATHS | {"/long": {"get": {"operationId": long}}, "/2": {"get": {"operationId": "2fa"}}})
    names = names_of(operations, "p_", {}, {})
    assert names["GET /pets"] == "p_list_pets"
    assert names["DELETE /users/{id}"] == "p_delete_users_id"
    assert names["GET /users/{id}"] == "p_users_get_by_id"
    assert names["GET /2"] == "p_op_2fa"
    assert names["GET /long"].startswith("p_get_the_very_long_name_of_an_operat")
    assert len(names["GET /long"]) == MAX_NAME


def test_names_are_unique_and_stay_when_operations_are_added() -> None:
    one: JsonObject = {"/b": {"get": {"operationId": "getPet"}}}
    other: JsonObject = {"/a": {"get": {"operationId": "get_pet"}}}
    before = names_of(found(one), "", {}, {})
    after = names_of(found(other | one), "", {}, before)
    assert after["GET /b"] == before["GET /b"] == "get_pet"
    assert after["GET /a"].startswith("get_pet_")
    assert names_of(found(other | one), "", {}, {}) == names_of(found(one | other), "", {}, {})


def test_a_tool_can_have_another_name() -> None:
    assert names_of(found(PATHS), "", {"list_pets": "pets", "createPet": "add_pet"}, {})["POST /pets"] == "add_pet"
    with pytest.raises(UsageError, match="there is no operation 'none' to rename"):
        names_of(found(PATHS), "", {"none": "a"}, {})
