"""The catalog as a single HTML file that includes the scripts, the style and the data of the page.

The Content-Security-Policy has the digests of the script and the style, so that a browser runs nothing else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.serve.page.catalog import Catalog, TokenEstimates, changes_of

INDEX: Final = "index.html"
"""The file that loads all others."""

_SUFFIXES: Final = (".html", ".css", ".js", ".svg")
_START: Final = "main.js"
_IMPORT: Final = re.compile(r'^import (\{[^}]+\}|\* as \w+) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
_LINKS: Final = re.compile(r"<link [^>]*>\n|<script [^>]*></script>\n")


def page_files() -> Mapping[str, bytes]:
    """Return the content of each file of the page, by name."""
    files = sorted(Path(__file__).parent.iterdir())
    return {each.name: each.read_bytes() for each in files if each.suffix in _SUFFIXES}


def catalog_file(catalog: Catalog, lock_changes: Sequence[JsonValue]) -> str:
    """Return the file. ``lock_changes`` are the differences from the lock file."""
    files = {name: content.decode() for name, content in page_files().items()}
    script, style = bundled(files), files["page.css"]
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    # A data block is no script. The definitions of nine providers repeat each other, so that it becomes far smaller.
    answers = json.dumps(_answers(catalog, lock_changes), separators=(",", ":")).encode()
    stored = base64.b64encode(gzip.compress(answers, mtime=0)).decode()
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
    end = f'<script type="application/gzip" id="stored">{stored}</script>\n<script type="module">{script}</script>\n'
    html = _LINKS.sub("", files[INDEX]).replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{head}')
    return html.replace("</body>", f"{end}</body>")


def _answers(catalog: Catalog, lock_changes: Sequence[JsonValue]) -> JsonObject:
    """Return the API's answers to the requests of the page, by the names that ``get`` in ``api.js`` uses."""
    tokens = TokenEstimates()
    entries: JsonObject = {
        f"catalog/{name}": catalog.entry(tokens, name) | {"lock_changes": changes_of(name, lock_changes)}
        for name in [tool.spec.name for tool in catalog.tools]
    }
    # The entries have estimated the tokens.
    return entries | {f"catalog?{each}": catalog.to_json(tokens, each) for each in PROVIDER_NAMES}


def bundled(files: Mapping[str, str]) -> str:
    """Return the modules as one script. Each module becomes a function that returns its exports."""
    ordered: list[str] = []
    _add(files, _START, ordered)
    return "\n".join(_module(name, files[name]) for name in ordered)


def _add(files: Mapping[str, str], name: str, ordered: list[str]) -> None:
    """Append a module to ``ordered`` after the modules that it imports."""
    for _, imported in _IMPORT.findall(files[name]):
        _add(files, imported, ordered)
    if name not in ordered:
        ordered.append(name)


def _module(name: str, text: str) -> str:
    def imported(found: re.Match[str]) -> str:
        names = found[1].removeprefix("* as ").replace(" as ", ": ")
        return f"const {names} = {_variable(found[2])};"

    exports = _EXPORT.findall(text)
    body = _EXPORT.sub("", _IMPORT.sub(imported, text))
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _variable(name: str) -> str:
    return f"module_{name.removesuffix('.js')}"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
