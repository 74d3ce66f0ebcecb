"""The project file, ``toolc.yaml`` or ``toolc.toml``."""

from __future__ import annotations

from typing import Final

from toolc.compiler.format_schema.parts import anything, closed, items, mapping, reference, text
from toolc.compiler.format_schema.policy import policy
from toolc.compiler.settings import HOST
from toolc.schema import JsonObject

_CODE: Final = "^TC[0-9]{0,3}$"


def project() -> JsonObject:
    """Every key of a project file."""
    code = text("A code, or the beginning of several: TC204, TC2.", _CODE)
    severity: JsonObject = {"description": "How bad it is.", "enum": ["error", "warning", "off"]}
    lint = closed(
        "Which findings are reported.",
        {
            "select": items("Only these, and those of them that are off by default.", code),
            "ignore": items("Not these; an error cannot be ignored.", code),
            "severity": mapping("How bad a code is.", severity, names={"type": "string", "pattern": _CODE}),
            "hosts": items(
                "Hosts whose URLs may stand in descriptions (TC214), each with the names below it.",
                text("A host's name: docs.example.com.", HOST),
            ),
        },
    )
    variable: JsonObject = {"description": "A constant.", "type": ["string", "number", "boolean"]}
    return closed(
        "What all specs below this file share.",
        {
            "defaults": reference("defaults", "What tools have that say nothing else: maps merge, lists replace."),
            "vars": mapping(
                "Constants that stand in specs as {{ vars.name }}.",
                variable,
                names={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
            ),
            "toolsets": mapping("Names for several tools.", items("The tools.", text("A tool's name."))),
            "builtin": items(
                "Tools that come with toolc and are compiled along.", text("A tool's name: 'calculator'.")
            ),
            "lint": lint,
            "exclude": items("Files that are no specs.", text("A pattern of paths below this file: 'vendor/**'.")),
            "out": text("The folder that 'toolc build' writes, below this file."),
            "providers": anything("Reserved: this version of toolc does not read it."),
            "policy": policy(),
        },
    )
