"""Generate the spec files of an OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolc.dataclass import dataclass
from toolc.importers.openapi.operations import Choice, Operation, names_of, operations, selected
from toolc.importers.openapi.servers import Server, check_variables
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.importers.openapi.tools import tool_spec
from toolc.importers.yaml_text import yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import child_pointer, map_under


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of an import. ``name`` is part of the names of secrets."""

    name: str
    choice: Choice
    server: Server = Server()
    prefix: str = ""
    renamed: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An operation that is left out, with the reason and the place in the document that causes it."""

    operation: Operation
    reason: str
    tokens: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The text and the operation of each file, by file name, and the operations that are left out."""

    files: dict[str, str]
    operations: dict[str, Operation]
    names: dict[str, str]
    left_out: list[LeftOut]


def check_version(document: Document) -> None:
    """Raise ``UsageError`` unless the OpenAPI version of the document is supported."""
    root = document.root
    version = str(root.get("openapi", root.get("swagger", "")))
    if re.fullmatch(r"3\.[012](\..*)?|2\.0", version) and ("swagger" in root) == version.startswith("2"):
        return
    others = {
        "asyncapi": "an AsyncAPI document", "item": "a Postman collection", "log": "a HAR file",
    }  # fmt: skip
    what = next((text for key, text in others.items() if key in root), f"OpenAPI {version:.20}" if version else "")
    raise UsageError(
        f"{document.base} is {what or 'not an OpenAPI document'}; toolc imports OpenAPI 3.0 to 3.2 and Swagger 2.0, "
        "so convert it first, or write the tools by hand"
    )


def name_of(document: Document) -> str:
    """Derive a name for the import from the title of the document."""
    title = str(map_under(document.root, "info").get("title", ""))
    words = re.sub(r"'s\b|\b(?:open|rest)?\W?api\b|\b(?:official|spec|specification|swagger|the)\b", " ", title.lower())
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")[:30].strip("_") or "api"


def generate(document: Document, options: Options, recorded: Mapping[str, str]) -> Generated:
    """Return the files for the chosen operations. ``recorded`` has the tool names of the last import, by operation.

    Raises ``UsageError``.
    """
    check_version(document)
    check_variables(document, options.server.variables)
    found = operations(document)
    chosen = selected(found, options.choice)
    # Names depend on all operations, so that a choice does not change them.
    names = names_of(found, options.prefix, options.renamed, recorded)
    result = Generated(files={}, operations={}, names={}, left_out=[])
    for each in chosen:
        name = names[each.key]
        try:
            spec = tool_spec(document, each, name, options.name, options.server)
        except LeftOutError as error:
            result.left_out.append(LeftOut(operation=each, reason=str(error), tokens=error.tokens or each.tokens))
            continue
        result.files[f"{name}.yaml"] = f"# {each.key}, from {child_pointer('#', *each.tokens)}\n" + yaml_text(spec)
        result.operations[f"{name}.yaml"] = each
        result.names[each.key] = name
    return result
