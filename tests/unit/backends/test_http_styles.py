"""How lists and objects are written in a request: the examples of OpenAPI 3.1.1, 4.8.12.4, and what it leaves open."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from compiling.compiled import found_in, tool_of

from toolc.backends.backend_protocol import PlanError
from toolc.backends.http import Http
from toolc.model.call import BoundCall
from toolc.model.http_plan import HttpCall, PlainBody, Slot, WorkspaceFile
from toolc.model.json_schema import JsonValue
from toolc.model.plan import Profile
from toolc.model.spec.http_backend import HttpBackend
from toolc.runtime.http.request import fill_query

HEAD = "toolc: 1\nname: paint\ndescription: Paint a wall in a colour.\nparameters: {color: {}}\n"
ARRAY: JsonValue = ["blue", "black", "brown"]
OBJECT: JsonValue = {"R": 100, "G": 200, "B": 150}
REFUSED = "refused"


def call(folder: Path, http: str, color: JsonValue, more: str = "") -> HttpCall:
    tool = tool_of(folder, f"{HEAD}backend: {{http: {http}}}\n{more}")
    assert isinstance(tool.backend, HttpBackend)
    plan = Http().plan(tool.backend, BoundCall(tool=tool, arguments={"color": color}, call_id="c"), Profile())
    assert isinstance(plan.invocation, HttpCall)
    return plan.invocation


def styled(style: str, explode: str, more: str = "") -> str:
    return f'{{color: {{value: "{{{{ color }}}}", style: {style}, explode: {explode}{more}}}}}'


@pytest.mark.parametrize(
    ("style", "explode", "empty", "string", "array", "obj"),
    [
        ("matrix", "false", ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", "true", ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", "false", REFUSED, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", "true", REFUSED, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", "false", REFUSED, "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", "true", REFUSED, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_styles_of_a_path(
    tmp_path: Path, style: str, explode: str, empty: str, string: str, array: str, obj: str
) -> None:
    # A segment that is empty or a dot would change the path, so it is refused although OpenAPI has a form for it.
    http = f"{{url: 'https://a.example/x/{{color}}/y', path: {styled(style, explode)}}}"
    for value, expected in (("", empty), ("blue", string), (ARRAY, array), (OBJECT, obj)):
        if expected == REFUSED:
            with pytest.raises(PlanError, match=r"color: .* path; use another value"):
                call(tmp_path, http, value)
        else:
            assert urlsplit(call(tmp_path, http, value).url).path == f"/x/{expected}/y"


FORM_EXPLODED = "color=blue&color=black&color=brown"
QUERY = [
    ("form", "false", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    ("form", "true", "color=", "color=blue", FORM_EXPLODED, "R=100&G=200&B=150"),
    (
        "spaceDelimited", "false", "color=", "color=blue", "color=blue%20black%20brown",
        "color=R%20100%20G%20200%20B%20150",
    ),
    ("spaceDelimited", "true", "color=", "color=blue", FORM_EXPLODED, "R=100&G=200&B=150"),
    (
        "pipeDelimited", "false", "color=", "color=blue", "color=blue%7Cblack%7Cbrown",
        "color=R%7C100%7CG%7C200%7CB%7C150",
    ),
    ("pipeDelimited", "true", "color=", "color=blue", FORM_EXPLODED, "R=100&G=200&B=150"),
    (
        "deepObject", "true", "color=", "color=blue", "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
        "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("style", "explode", "empty", "string", "array", "obj"), QUERY)
def test_styles_of_a_query_and_a_form(
    tmp_path: Path, style: str, explode: str, empty: str, string: str, array: str, obj: str
) -> None:
    for value, expected in (("", empty), ("blue", string), (ARRAY, array), (OBJECT, obj), (None, ""), ([], "")):
        query = call(tmp_path, f"{{url: 'https://a.example/', query: {styled(style, explode)}}}", value).query
        assert fill_query(query, {}) == expected
        form = f"{{url: 'https://a.example/', method: POST, body: {{form: {styled(style, explode)}}}}}"
        body = call(tmp_path, form, value).body
        assert body == PlainBody(
            content_type="application/x-www-form-urlencoded", pieces=(expected,) if expected else ()
        )


@pytest.mark.parametrize(
    ("explode", "expected"),
    [
        ("false", ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
        ("true", ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ],
)
def test_the_style_of_a_header(tmp_path: Path, explode: str, expected: list[str]) -> None:
    http = f"{{url: 'https://a.example/', headers: {styled('simple', explode)}}}"
    values: list[JsonValue] = ["blue", ARRAY, OBJECT]
    assert [call(tmp_path, http, value).headers[0].value for value in values] == [(text,) for text in expected]
    with pytest.raises(PlanError, match="cannot contain line ends"):
        call(tmp_path, http, ["a\r\nX: b"])


@pytest.mark.parametrize(
    ("explode", "expected"),
    [
        ("false", ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        ("true", ["color=", "color=blue", FORM_EXPLODED, "R=100&G=200&B=150"]),
    ],
)
def test_the_style_of_a_cookie(tmp_path: Path, explode: str, expected: list[str]) -> None:
    http = f"{{url: 'https://a.example/', cookies: {styled('form', explode)}}}"
    values: list[JsonValue] = ["", "blue", ARRAY, OBJECT]
    headers = [call(tmp_path, http, value).headers[0] for value in values]
    assert {each.name for each in headers} == {"Cookie"}
    assert ["".join(map(str, each.value)) for each in headers] == expected


def test_cookies_without_a_style_are_sent_as_they_are_and_cannot_add_another(tmp_path: Path) -> None:
    secret = "sandbox: {secrets: {KEY: {hosts: [a.example]}}}\n"
    http = '{url: "https://a.example/", cookies: {a: "{{ color }}", s: "{{ secrets.KEY }}"}}'
    assert call(tmp_path, http, "x=1", secret).headers[0].value == ("a=", "x=1", "; ", "s=", Slot("KEY"))
    with pytest.raises(PlanError, match="the cookie 'a' cannot contain ';'"):
        call(tmp_path, http, "x; s=2", secret)


@pytest.mark.parametrize(
    ("value", "plain", "reserved"),
    [
        ("a/b:c?d,e", "color=a%2Fb%3Ac%3Fd%2Ce", "color=a/b:c?d,e"),
        ("a&b#c+d[e]", "color=a%26b%23c%2Bd%5Be%5D", "color=a%26b%23c%2Bd%5Be%5D"),
        ("50% %2f", "color=50%25%20%252f", "color=50%25%20%2f"),
        (["a/b", "c,d"], "color=a%2Fb&color=c%2Cd", "color=a/b&color=c,d"),
    ],
)
def test_allow_reserved_keeps_what_cannot_end_a_field(
    tmp_path: Path, value: JsonValue, plain: str, reserved: str
) -> None:
    for more, expected in (("", plain), (", allow_reserved: true", reserved)):
        http = f"{{url: 'https://a.example/', query: {styled('form', 'true', more)}}}"
        assert fill_query(call(tmp_path, http, value).query, {}) == expected


def test_a_segment_is_encoded_and_cannot_leave_its_place(tmp_path: Path) -> None:
    http = f"{{url: 'https://a.example/x{{color}}', path: {styled('label', 'false')}}}"
    assert call(tmp_path, http, ["a/b", "c,d", "é"]).url.endswith("/x.a%2Fb,c%2Cd,%C3%A9")
    http = f"{{url: 'https://a.example/x/{{color}}', path: {styled('label', 'false')}}}"
    with pytest.raises(PlanError, match=r"color: '\.\.' would change"):
        call(tmp_path, http, ".")


def test_nested_values_of_deep_objects(tmp_path: Path) -> None:
    http = f"{{url: 'https://a.example/', query: {styled('deepObject', 'true')}}}"
    found = call(tmp_path, http, {"a": {"b": [1, {"c": True}]}, "n": None}).query
    assert fill_query(found, {}) == "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=true"


@pytest.mark.parametrize(
    ("http", "problem"),
    [
        (f"query: {styled('matrix', 'true')}", "a query has no style 'matrix'"),
        (f"headers: {styled('form', 'true')}", "a header has no style 'form'"),
        (f"cookies: {styled('deepObject', 'true')}", "a cookie has no style 'deepObject'"),
        (f"method: POST, body: {{form: {styled('simple', 'true')}}}", "a form has no style 'simple'"),
        (f"query: {styled('deepObject', 'false')}", "the style 'deepObject' writes each key on its own"),
        (f"headers: {styled('simple', 'true', ', allow_reserved: true')}", "a header has no 'allow_reserved'"),
        (f"path: {styled('label', 'true')}", "the path of the URL has no {color}"),
        ("cookies: {'a b': '{{ color }}'}", "'a b' cannot be the name of a cookie"),
        ("cookies: {a: '{{ color }}'}, headers: {Cookie: b=1}", "'cookies' sets this header too"),
        ("method: POST, body: {file: {path: '{{ color }}'}}", "this file is in the workspace, but this tool has none"),
    ],
)
def test_what_a_place_does_not_have_is_an_error(tmp_path: Path, http: str, problem: str) -> None:
    found = found_in(tmp_path, f"{HEAD}backend: {{http: {{url: 'https://a.example/', {http}}}}}\n")
    assert [each for each in found if problem in each]


def test_a_body_can_be_a_file_of_the_workspace(tmp_path: Path) -> None:
    http = '{url: "https://a.example/", method: PUT, body: {file: {path: "{{ color }}", content_type: image/png}}}'
    workspace = "sandbox: {workspace: ro}\n"
    assert call(tmp_path, http, "a/b.png", workspace).body == WorkspaceFile(path="a/b.png", content_type="image/png")
    with pytest.raises(PlanError, match="is not a path in the workspace"):
        call(tmp_path, http, "../b.png", workspace)
