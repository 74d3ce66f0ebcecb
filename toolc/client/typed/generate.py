"""Write typed clients for the tools of a registry.

The first line of a client has the digest of the registry, which covers everything that models and clients see of its
tools. No digest covers the client itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from toolc.client.typed import python_client, typescript
from toolc.client.typed.identifiers import Names, type_name
from toolc.client.typed.schema_types import SchemaTypes, description_of
from toolc.client.typed.types import Alias, Definition, Named, Type, TypedTool
from toolc.dataclass import dataclass
from toolc.model.atomic_files import replace_file
from toolc.model.errors import UsageError
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import surfaces_digest
from toolc.providers.json_schema.lowering import description_without_result
from toolc.providers.json_schema.result_schema import is_wrapped

_MARK: Final = "toolc client for the registry "
"""The start of the first line, after the comment sign."""

_Write: TypeAlias = Callable[[str, Sequence[TypedTool], Sequence[Definition]], str]


@dataclass(frozen=True, slots=True)
class Language:
    """A language of clients: its reserved type names, its comment sign, and the function that writes a module."""

    reserved: frozenset[str]
    comment: str
    write: _Write


LANGUAGES: Final = {
    "python": Language(python_client.RESERVED, "# ", python_client.module),
    "pydantic": Language(python_client.RESERVED, "# ", partial(python_client.module, models=True)),
    "typescript": Language(typescript.IMPORTED, "// ", typescript.module),
}
"""The languages by name."""


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client to write: its language, and its path."""

    language: str
    path: Path


def parse_clients(values: Sequence[str]) -> list[ClientFile]:
    """Parse each ``LANGUAGE:PATH``. Raises ``UsageError`` if one is invalid or two have the same path."""
    clients: dict[Path, ClientFile] = {}
    for value in values:
        language, separator, path = value.partition(":")
        if not separator or not path or language not in LANGUAGES:
            raise UsageError(f"--client {value}: write it as LANGUAGE:PATH; the languages are {', '.join(LANGUAGES)}")
        if Path(path).resolve() in clients:
            raise UsageError(f"--client {value}: another client has the same path; choose another path")
        clients[Path(path).resolve()] = ClientFile(language, Path(path))
    return [*clients.values()]


def client_text(tools: Sequence[RegisteredTool], language: str) -> str:
    """Return the text of a client for these tools, which are sorted by name."""
    chosen = LANGUAGES[language]
    names, definitions = Names(chosen.reserved), list[Definition]()
    typed = [_typed_tool(tool, names, definitions) for tool in tools]
    digest = surfaces_digest({tool.spec.name: tool.surface_digest for tool in tools})
    return f"{chosen.comment}{_MARK}{digest}\n{chosen.write(digest, typed, definitions)}"


def write_clients(clients: Sequence[ClientFile], tools: Sequence[RegisteredTool], out: Path) -> None:
    """Write clients for the tools of the build in the folder ``out``. A file that is up to date is not written.

    Raises ``UsageError`` if a path is inside ``out``, names a file that is not a client, or cannot be written.
    """
    for client in clients:
        if client.path.resolve().is_relative_to(out.resolve()):
            raise UsageError(
                f"{client.path} is in {out}, which each build replaces; choose another path for the client"
            )
        try:
            _write(client.path, client_text(tools, client.language))
        except OSError as error:
            raise UsageError(f"cannot write {client.path}: {error.strerror or error}") from error


def _write(path: Path, text: str) -> None:
    if path.exists():
        present = path.read_text(encoding="utf-8", errors="replace")
        if present == text:
            return
        if _MARK not in present.partition("\n")[0]:
            raise UsageError(f"{path} is not a client that toolc wrote; remove it, or choose another path")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        file.write(text.encode())


def _typed_tool(tool: RegisteredTool, names: Names, definitions: list[Definition]) -> TypedTool:
    spec = tool.spec
    types = SchemaTypes(spec.parameters.value, type_name(spec.name), names, definitions)
    arguments = types.record(spec.parameters.value, names.unique(type_name(spec.name, "Arguments")))
    return TypedTool(
        name=spec.name,
        description=description_without_result(spec),
        surface_digest=tool.surface_digest,
        arguments=arguments,
        result=_result(tool, names, definitions),
        is_wrapped=spec.result_schema is not None and is_wrapped(spec.result_schema.value),
    )


def _result(tool: RegisteredTool, names: Names, definitions: list[Definition]) -> Type | None:
    """Return the type of a tool's data. The type always has a name."""
    if tool.spec.result_schema is None:
        return None
    schema, name = tool.spec.result_schema.value, type_name(tool.spec.name, "Result")
    found = SchemaTypes(schema, type_name(tool.spec.name, "Result"), names, definitions).type_of(schema, name)
    if isinstance(found, Named):
        return found
    alias = Alias(name=names.unique(name), type=found, description=description_of(schema))
    definitions.append(alias)
    return Named(alias.name)
