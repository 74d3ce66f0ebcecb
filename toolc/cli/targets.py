"""Open the TARGET of a command: a spec, a folder of specs, a registry, or built-in tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from toolc.cli.common import CANNOT, print_findings
from toolc.client.build import compile_paths, split_target
from toolc.client.registry import Registry
from toolc.data.paths import packaged_path
from toolc.model.errors import PolicyError, UsageError
from toolc.model.lock_file import Lock, LockError, changed_tools
from toolc.model.names import TOOL_NAME, close_match
from toolc.model.spec.policy import Policy
from toolc.reporters import FORMATS

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.compiler.project.baseline import Baseline
    from toolc.compiler.project.settings import Settings
    from toolc.model.diagnostics import Diagnostics


def find_registry(target: str, registry: str | None, builtin: str | None = None) -> Registry:
    """Return a registry of the one tool that ``target`` names. Raises ``UsageError`` if it names none or several.

    With ``registry``, the path of a registry, or ``builtin``, a toolset, ``target`` is the name of a tool.
    """
    if (tools := named_registry(registry, builtin)) is not None:
        return tools.only(target)
    source, name = split_target(target)
    if not source.exists():
        missing = f"there is no file or folder {str(Path(target))!r}"
        is_name = TOOL_NAME.fullmatch(target) is not None
        if not is_name and (similar := _similar_path(source)):
            suffix = "" if name is None else f"#{name}"
            raise UsageError(f"{missing}; did you mean {similar + suffix!r}?")
        path = f"write the path of its spec, such as specs/{target}.yaml; " if is_name else ""
        raise UsageError(
            f"{missing}; {path}"
            "for a tool in a registry, add --registry build/registry.json; for a built-in tool, add --builtin all"
        )
    if name is not None or source.suffix == ".json":
        tools = open_registry(target)
        return tools.only(only_name(target, tools.names))
    tools, own = _spec_registry(source)
    return tools.only(only_name(target, own))


def named_registry(registry: str | None, builtin: str | None) -> Registry | None:
    """Return the registry of ``--registry`` or ``--builtin``, or None without them. Raises ``UsageError``."""
    if builtin is None:
        return None if registry is None else open_registry(registry)
    if registry is not None:
        raise UsageError("--builtin and --registry cannot be combined; TARGET is a tool of only one of them")
    return Registry.builtin(builtin)


def _similar_path(path: Path) -> str:
    """Return the most similar path in the same folder, or an empty string if there is none."""
    try:
        names = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    name = close_match(path.name, names)
    return str(path.with_name(name)) if name else ""


def only_name(target: str, names: Sequence[str]) -> str:
    """Return the name of the only tool in ``target``. Raises ``UsageError`` if there are several."""
    if len(names) != 1:
        others = f"; select one: {target}#{names[0]} (or {', '.join(names[1:])})" if names else ""
        raise UsageError(f"{target} has {len(names)} tools{others}")
    return names[0]


def refuse_unapproved(lock: Lock, registry: Registry) -> None:
    """Raise a ``LockError`` that names every tool in a registry that differs from its approved version."""
    if lines := [*changed_tools(lock, (registry.registered(name) for name in registry.names))]:
        raise LockError("\n".join(lines))


def refuse_disallowed(policy: Policy, registry: Registry) -> None:
    """Raise a ``PolicyError`` that names every tool in a registry that a policy does not allow."""
    from toolc.policy.rules import enforce_policies  # lazy: +10 ms; few users have a policy

    lines: list[str] = []
    for tool in registry:
        try:
            enforce_policies(tool, registry, (policy,))
        except PolicyError as error:
            lines.append(str(error))
    if lines:
        raise PolicyError("\n".join(lines))


def compile_or_exit(
    paths: tuple[str, ...],
    *,
    to: TextIO,
    code: int,
    format_name: str = FORMATS[0],
    settings: Settings | None = None,
    baseline: Baseline | None = None,
) -> Compilation:
    """Compile specs, print every finding, and exit with status ``code`` if there are errors.

    ``baseline`` has the settings of a project, which the specs' own settings cannot relax.
    """
    from toolc.compiler.pipeline.processes import compile_many  # lazy: +24 ms; a registry file needs no compiler

    compilation = compile_many([Path(path) for path in paths], settings, baseline)
    print_findings(compilation.diagnostics, to, format_name)
    if compilation.diagnostics.has_errors:
        raise click.exceptions.Exit(code)
    return compilation


def open_registry(target: str) -> Registry:
    """Open a registry file, or compile specs. ``TARGET#NAME`` selects one tool."""
    source, name = split_target(target)
    if source.suffix == ".json":
        return Registry.load(target)
    registry, _ = _spec_registry(source)
    return registry if name is None else registry.only(name)


def _spec_registry(source: Path) -> tuple[Registry, Sequence[str]]:
    """Return the tools of specs, and the names of those that are not built-in. Print errors on stderr and exit.

    Warnings are left to ``check`` and ``build``, because the user of a tool is often not its author.
    """
    from toolc.compiler.cache.cached_registry import registry_of_specs  # lazy: +10 ms; a registry file needs no specs

    specs = registry_of_specs([source])
    exit_on_errors(specs.diagnostics)
    return Registry(specs.file, specs.diagnostics), specs.local


def open_tools(target: str | None, builtin: str | None) -> Registry:
    """Open TARGET or the toolset of ``--builtin``. Raises ``UsageError`` unless the user passed exactly one of them."""
    if target is not None and builtin is not None:
        raise UsageError(f"--builtin replaces TARGET; remove {target!r} or --builtin {builtin}")
    if builtin is not None:
        return Registry.builtin(builtin)
    if target is None:
        raise UsageError("TARGET is missing; pass a spec, a folder or a registry.json, or use --builtin TOOLSET")
    return open_registry(target)


def compiled_builtin(toolset: str, policy: Policy | None = None) -> Compilation:
    """Compile the built-in tools of a toolset. Raises ``UsageError``, or ``PolicyError`` if a policy refuses a tool."""
    registry = Registry.builtin(toolset)
    if not len(registry):
        raise UsageError(f"the toolset {toolset} has no tools")
    if policy is not None:
        refuse_disallowed(policy, registry)
    compilation = compile_paths([packaged_path("specs")])
    return replace(
        compilation,
        tools=tuple(tool for tool in compilation.tools if tool.name in registry),
        located=tuple(tool for tool in compilation.located if tool.spec.name in registry),
        projects=compilation.projects if registry.toolsets else (),
    )


def builtin_targets(toolset: str) -> tuple[str, ...]:
    """Return the built-in tools of a toolset as targets ``SPEC#NAME``. Raises ``UsageError``."""
    return tuple(f"{packaged_path('specs')}#{name}" for name in Registry.builtin(toolset).names)


def exit_on_errors(diagnostics: Diagnostics) -> None:
    """If there are errors among ``diagnostics``, print them on stderr and exit."""
    errors = diagnostics.map(lambda finding: finding if finding.is_error else None)
    if errors.has_errors:
        print_findings(errors, sys.stderr)
        raise click.exceptions.Exit(CANNOT)
