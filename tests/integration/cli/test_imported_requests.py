"""Tools of an imported document send what OpenAPI says, as a server records it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from calls.scripted_server import ScriptedServer, json_reply
from cli.cli_engines import engines

from toolc.model.json_schema import JsonObject, JsonValue

TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}
POINT: JsonObject = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
OK: JsonObject = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}


def field(name: str, place: str, schema: JsonObject, **more: JsonValue) -> JsonObject:
    return {"name": name, "in": place, "required": True, "schema": schema, **more}


def document(port: int) -> JsonObject:
    binary: JsonObject = {"type": "string", "format": "binary"}
    search: JsonObject = {
        "operationId": "search",
        "summary": "Search the places of a map",
        "responses": OK,
        "parameters": [
            field("point", "path", POINT, style="matrix", explode=True),
            field("tags", "query", TEXTS, style="pipeDelimited"),
            field("filter", "query", POINT, style="deepObject"),
            field("X-Ids", "header", TEXTS),
            field("c", "cookie", TEXTS),
        ],
    }
    upload: JsonObject = {
        "operationId": "upload",
        "summary": "Upload a photo of a place",
        "responses": OK,
        "requestBody": {"content": {"image/png": {"schema": binary}}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Maps"},
        "servers": [{"url": f"http://127.0.0.1:{port}/v1"}],
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {"/maps/{point}/places": {"get": search}, "/photos": {"put": upload}},
    }


def toolc(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "TOOLC_SECRET_MAPS_KEY": "s3cret-token"}
    result = subprocess.run(
        [sys.executable, "-m", "toolc", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("engine", engines())
def test_requests_arrive_as_the_document_says(engine: str, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    path = "/v1/maps/;x=1;y=2/places"
    with ScriptedServer({path: json_reply({}), "/v1/photos": json_reply({})}) as server:
        (tmp_path / "maps.json").write_text(json.dumps(document(server.port)), encoding="utf-8")
        assert "2 operations imported" in toolc(tmp_path, "import", "openapi", "maps.json")
        arguments = {"point": {"x": 1, "y": 2}, "tags": ["a", "b"], "filter": {"x": 3}, "X_Ids": ["1", "2"], "c": ["d"]}
        toolc(tmp_path, "run", "--engine", engine, "specs/maps/search.yaml", "--args", json.dumps(arguments))
        workspace = ("--workspace", str(tmp_path))
        toolc(tmp_path, "run", "--engine", engine, *workspace, "specs/maps/upload.yaml", "--arg", "file=photo.png")
        search, upload = server.received
    assert search.path == f"{path}?filter%5Bx%5D=3&tags=a%7Cb"
    headers = {name.lower(): value for name, value in search.headers.items()}
    assert (headers["x-ids"], headers["cookie"], headers["authorization"]) == ("1,2", "c=d", "Bearer s3cret-token")
    assert (upload.method, upload.body) == ("PUT", b"\x89PNG")
    assert {name.lower(): value for name, value in upload.headers.items()}["content-type"] == "image/png"
