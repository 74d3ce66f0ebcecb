"""Choose the server of an operation, with which its URL starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from toolc.dataclass import dataclass, field
from toolc.importers.openapi.operations import Operation
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under


@dataclass(frozen=True, slots=True)
class Server:
    """The choice of a server: a ``url`` that replaces the document's servers, and values for variables in URLs."""

    url: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def server_url(document: Document, operation: Operation, chosen: Server) -> str:
    """Return the URL of the server without a trailing ``/``. Raises ``LeftOutError`` and ``UsageError``."""
    url, root = chosen.url, document.root
    if not url and "swagger" in root:
        schemes = texts_of(operation.value.get("schemes", root.get("schemes"))) or ["https"]
        scheme = "https" if "https" in schemes else schemes[0]
        url = (f"{scheme}://{root['host']}" if "host" in root else "") + str(root.get("basePath", ""))
    if not url:
        places = (operation.value, operation.shared, root)
        servers = next((found for place in places if (found := list_under(place, "servers"))), [])
        urls = [_expanded(each, chosen.variables) for each in servers if isinstance(each, dict)]
        url = next((each for each in urls if each.startswith("https:")), urls[0] if urls else "")
    way = "pass --server URL" + (", or with --server-variable NAME=VALUE" if "{" in url else "")
    try:
        urlsplit(url)
    except ValueError:
        raise LeftOutError(f"its server {url[:80]!r} is not a URL; {way}", "servers") from None
    if not re.match("https?:", url) and document.base.startswith(("https:", "http:")):
        url = urljoin(document.base, url or "/")
    if not re.match("https?://[^/{}]+(?:/|$)", url) or "{" in url:
        raise LeftOutError(f"its server {url[:80]!r} is not an absolute URL; {way}", "servers")
    return url.partition("?")[0].rstrip("/")


def check_variables(document: Document, variables: Mapping[str, str]) -> None:
    """Raise ``UsageError`` for a variable that no server declares, or a value that its ``enum`` does not contain."""
    found: JsonObject = {}
    items = [each for each in map_under(document.root, "paths").values() if isinstance(each, dict)]
    operations = [each for item in items for each in item.values() if isinstance(each, dict)]
    for owner in (document.root, *items, *operations):
        for server in list_under(owner, "servers"):
            found |= map_under(server, "variables") if isinstance(server, dict) else {}
    for name, value in variables.items():
        if name not in found:
            raise UsageError(f"no server has a variable {name!r}; the variables are: {', '.join(found) or 'none'}")
        listed = texts_of(map_under(found, name).get("enum"))
        if listed and value not in listed:
            raise UsageError(f"the variable {name!r} of the servers can be {', '.join(listed)}, not {value!r}")


def texts_of(value: JsonValue) -> list[str]:
    """Return the strings in a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _expanded(server: JsonObject, variables: Mapping[str, str]) -> str:
    """Return the URL of a server with the values or the defaults of its variables."""
    url = str(server.get("url", ""))
    for name, variable in map_under(server, "variables").items():
        default = variable.get("default") if isinstance(variable, dict) else None
        value = variables.get(name, default)
        url = url.replace(f"{{{name}}}", str(value)) if value is not None else url
    return url
