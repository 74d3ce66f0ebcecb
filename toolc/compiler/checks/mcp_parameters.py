"""TC417: parameters that accept arguments which the pinned definition of an MCP server refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.json_schema import child_pointer, map_under
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.text import printable, shorten
from toolc.validation.validate import schema_problem, validation_errors

_LONGEST: Final = 200
"""The maximum length of the arguments and of the reason in a message, in characters."""


@tool_check("TC417", needs={"backend", "parameters"})
def check_mcp_parameters(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report one example of arguments that the parameters accept and the server refuses.

    Nothing is reported if the search proves nothing, or if the server uses another dialect of JSON Schema.
    """
    backend = tool.spec.backend
    if not isinstance(backend, McpBackend):
        return
    theirs, ours = map_under(backend.definition, "inputSchema"), tool.spec.all_parameters.value
    if theirs == ours or schema_problem(theirs):
        return
    from toolc.validation.witness import results, solver  # lazy: +15 ms; few tools of servers are edited

    found = solver.value_refused_by(theirs, ours)
    if isinstance(found, results.Found):
        error = validation_errors(theirs, found.value)[0]
        route = [*error.absolute_path][:1]
        span = tool.pointer_span(child_pointer("/parameters/properties", *route)) if route else tool.span("parameters")
        arguments = shorten(json.dumps(found.value), _LONGEST)
        reason = printable(shorten(error.message, _LONGEST))
        message = f"the arguments {arguments} are valid here, but not for the MCP server: {reason}"
        yield Diagnostic(codes.WIDER_PARAMETERS, message, span, "accept only values that 'definition' accepts")
