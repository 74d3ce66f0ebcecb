"""``policy``: what no tool may exceed."""

from __future__ import annotations

from typing import get_args

from toolc.compiler.decode_policy import GRADES, RISK
from toolc.compiler.format_schema.parts import boolean, choice, closed, items, text
from toolc.compiler.format_schema.sandbox import limits
from toolc.policy.policy import BackendKind, Required
from toolc.schema import JsonObject
from toolc.spec import Expose, Lifetime, MinIsolation, WorkspaceMode


def policy() -> JsonObject:
    """``policy``, of which every key is a bound."""
    return closed(
        "What no tool below this file may exceed; a key that is not here bounds nothing.",
        {
            "limits": limits("The most that a call may use."),
            "hosts": items("All that a call may reach.", text("host:port, or '*.example.com:443'.")),
            "public_egress": boolean("Whether a tool may reach every public address.", default=True),
            "images": items("Images that a call may run in.", text("A pattern: 'registry.example.com/tools/**'.")),
            "require": items("What every tool must say.", choice("A key of a spec.", get_args(Required))),
            "backends": items("The kinds of backends.", choice("A kind.", get_args(BackendKind))),
            "expose": items("How secrets may be exposed.", choice("A way.", get_args(Expose))),
            "workspace": items("Modes of the workspace.", choice("A mode.", get_args(WorkspaceMode))),
            "lifetime": items("How long a sandbox may live.", choice("A lifetime.", get_args(Lifetime))),
            "run_as": choice("'nonroot' asks every tool to say the same.", ("nonroot",)),
            "min_isolation": choice("The weakest isolation that a spec may ask for.", get_args(MinIsolation)),
            "approvals": items("Who must approve which changes; 'toolc diff' shows it.", _approval()),
        },
    )


def _approval() -> JsonObject:
    risk = text("A rule of 'toolc diff', as RSK01, or a grade.", f"^({RISK}|{'|'.join(GRADES)})$")
    return closed(
        "Changes, and those who must approve them.",
        {
            "by": items("People or teams.", text("As the code host calls them: '@example/security'."), at_least=1),
            "risks": items("Which changes; by default any.", risk),
            "paths": items("Specs in these files.", text("A pattern of paths: 'specs/prod/**'.")),
            "tags": items("Tools with one of these tags.", text("A tag.")),
        },
        required=["by"],
    )
