"""``sandbox.env``: constants of the environment and, for a plugin, variables that hold secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolc.compiler.parameters import NO_PARAMETERS
from toolc.compiler.templates import Scope, parse, read_template
from toolc.document.map_reader import Findings, mapping, text
from toolc.document.nodes import Node, Scalar
from toolc.model import codes
from toolc.model.spec.sandbox import EnvVar, SecretEnvVar

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET: Final = Scope(parameters=NO_PARAMETERS, takes_secrets=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """The variables of an environment, each kind sorted by name."""

    constants: tuple[EnvVar, ...]
    secrets: tuple[SecretEnvVar, ...]


NO_VARIABLES: Final = Variables(constants=(), secrets=())
"""The environment of a spec that sets none."""


def decode_env(node: Node, what: str, findings: Findings, *, takes_secrets: bool) -> Variables | None:
    """Decode ``env``; ``takes_secrets`` says whether ``{{ secrets.NAME }}`` can stand in a value."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    constants: list[EnvVar] = []
    secrets: list[SecretEnvVar] = []
    for entry in found.entries:
        what = f"env.{entry.key}"
        if not _VARIABLE.fullmatch(entry.key):
            message = f"'{entry.key[:80]}' cannot be the name of a variable"
            findings.add(codes.BAD_VALUE, message, entry.key_span, "use letters, digits and _")
        elif entry.key.startswith("ARG_"):
            message = f"'{entry.key}' is reserved: variables that begin with ARG_ are a script's parameters"
            findings.add(codes.BAD_VALUE, message, entry.key_span)
        if takes_secrets and _names_secret(entry.value):
            template = read_template(entry.value, what, findings, _SECRET)
            secrets += [SecretEnvVar(name=entry.key, value=template)] if template is not None else []
        else:
            value = _constant(entry.value, what, findings)
            constants += [EnvVar(name=entry.key, value=value)] if value is not None else []
    return Variables(
        constants=tuple(sorted(constants, key=lambda variable: variable.name)),
        secrets=tuple(sorted(secrets, key=lambda variable: variable.name)),
    )


def _names_secret(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str) and bool(parse(node.value).template.secrets)


def _constant(node: Node, what: str, findings: Findings) -> str | None:
    if isinstance(node, Scalar) and node.value == "":
        return ""
    value = text(node, what, findings)
    if value is None or "{{" not in value:
        return value
    message = "a variable of the environment is a constant: no placeholder can stand here"
    hint = "pass parameters by 'argv' or 'stdin'; a script has them as ARG_<name>"
    if secrets := sorted(parse(value).template.secrets):
        hint = f"'secrets: {{{secrets[0]}: {{expose: env}}}}' sets the variable {secrets[0]} to its value"
    findings.add(codes.TEMPLATE, message, findings.locate(node.span, "{{"), hint)
    return None
