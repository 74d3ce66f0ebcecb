"""Risks of code: RSK07 (programs, called tools and other effects) and RSK12 (packages)."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.compiler.text_analysis.python_syntax import steps_to_parse
from toolc.model.call_graph import called_tools
from toolc.model.json_schema import JsonValue, list_under
from toolc.model.spec.code_backends import PythonBackend, ShellBackend
from toolc.model.spec.tool import EFFECT, ToolSpec
from toolc.model.text import lazy_re
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.schema_node import to_json_text
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import Part, as_in_spec, changed_parts, format_route
from toolc.review.risk.risk_rule import Sides, risk_rule

DEPENDENCY: Final = "RSK12"

_DECISIVE: Final = lazy_re(
    r"(?i)(?:LD|DYLD)_\w+|PATH|(?:PYTHON|PERL5|RUBY|NODE_|JAVA_|GIT_|PIP_|NPM_CONFIG_|SSL_|CURL_|REQUESTS_)\w*|BASH_ENV|ENV"
    r"|IFS|SHELL|HOME|PERL5LIB|RUBYOPT|CLASSPATH|JDK_JAVA_OPTIONS|GCONV_PATH|\w*_?PROXY"
    r"|(?:BASH_FUNC_|XDG_|DOTNET_|COR(?:ECLR)?_|CARGO_|RUSTC|LUA_|PHP|GEM_|BUNDLE_|UV_|CONDA_|OPENSSL_|DOCKER_|KUBE"
    r"|ELECTRON_|MAVEN_|GRADLE_|ANSIBLE_|AWS_CONFIG|AWS_SHARED)\w*"
    r"|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|BASH_LOADABLES_PATH|ZDOTDIR|CDPATH|FPATH|FCEDIT|R_PROFILE\w*|R_ENVIRON\w*"
    r"|(?:\w+_)?(?:EDITOR|PAGER|BROWSER|ASKPASS|PRELOAD|RSH|SHELL|OPTS|OPTIONS|WRAPPER|PATH|HOME|CONFIG|PLUGINS?"
    r"|HOST|HOSTS|HOSTNAME|ENDPOINT|URL|URI|SERVER|REGISTRY|INDEX)|VISUAL|LESS(?:OPEN|CLOSE)|\w*FLAGS|HOSTALIASES"
    r"|LOCALDOMAIN|RES_OPTIONS|NETRC|WGETRC|CC|CXX"
)
"""Variables with which a loader, an interpreter, a shell or a client chooses its code or its hosts."""

_DECISIVE_VALUE: Final = lazy_re(r"(?i)://|\$\(|`|\(\)\s*\{|^\s*\||\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}:\d")
"""Values that name a host, or that a shell runs as code if it evaluates them."""

_MAX_CHARACTERS: Final = 200_000
_MAX_STEPS: Final = 2_000
"""So that a review stays fast, larger Python files, and files that take longer to parse, count as different programs.
"""

_SAME_CHANGE: Final = frozenset({("workspace", "transaction"), ("image", "build"), ("build", "image")})
"""Keys of ``sandbox`` that rules report, with another key that changes with them."""

_REPORTED_FIELDS: Final = frozenset({"sandbox", "confirm", "retry", "json_text"})
"""Fields whose relaxations other rules report. A remaining difference is stricter, or means the same."""


@risk_rule("RSK07")
def check_programs(sides: Sides) -> Iterator[ToolChange]:
    """Report changed programs and packages, called tools that changed, and tools that now run code of callers."""
    before, after = sides.before, sides.after
    yield from _caller_code(sides)
    yield from _requirements(sides, before, after)
    if before is None:
        return
    yield from _files(sides, before, after)
    yield from _calls(sides)


def _caller_code(sides: Sides) -> Iterator[ToolChange]:
    """Yield a change if the tool now declares that it runs code of its callers."""
    if _runs_caller_code(sides.after) and not (sides.before and _runs_caller_code(sides.before)):
        grade: Grade = "high" if sides.before else "critical"  # one grade lower for a new tool
        message = "callers can run their own code"
        yield sides.risk("RSK07", grade, message, ("backend", "shell", "runs_caller_code"), "false", "true")


def _runs_caller_code(tool: ToolSpec) -> bool:
    return isinstance(tool.backend, ShellBackend) and tool.backend.runs_caller_code


def _files(sides: Sides, before: ToolSpec, after: ToolSpec) -> Iterator[ToolChange]:
    old_files, new_files = programs(before), programs(after)
    if moved := _moved_program(before, after):
        texts = old_files.pop(moved[0]), new_files.pop(moved[1])
        is_same = texts[0] == texts[1]
        message = f"the program {moved[0]} is now {moved[1]}" + ("" if is_same else ", with changes")
        both = moved if is_same else texts
        yield sides.risk("RSK07", "high", message, ("backend", "python"), *both, subject=moved[1])
    for path in sorted(old_files.keys() | new_files.keys()):
        old, new = old_files.get(path), new_files.get(path)
        if old == new:
            continue
        is_python = _is_run_by_python(path, before) and _is_run_by_python(path, after)
        grade: Grade = "low" if is_python and _is_same_program(old, new) else "high"
        verb = "was added" if old is None else "was removed" if new is None else "changed"
        message = f"the program {path} {verb}" + (" only in comments and layout" if grade == "low" else "")
        yield sides.risk("RSK07", grade, message, ("backend", after.backend.tag), old, new, subject=path)


def _moved_program(before: ToolSpec, after: ToolSpec) -> tuple[str, str] | None:
    """Return the old and the new name of a Python tool's program if it was renamed, for example with the tool."""
    if not isinstance(before.backend, PythonBackend) or not isinstance(after.backend, PythonBackend):
        return None
    one, other = before.backend.entry, after.backend.entry
    old_files, new_files = programs(before), programs(after)
    is_moved = one in old_files and other in new_files and one not in new_files and other not in old_files
    return (one, other) if is_moved else None


def programs(tool: ToolSpec) -> dict[str, str]:
    """Return the texts of a tool that run, by name."""
    return {
        each.path: each.text if each.text is not None else f"(not text) {each.base64}" for each in tool.backend.programs
    }


def _is_run_by_python(path: str, tool: ToolSpec) -> bool:
    """Return whether only Python runs the file. The comments of a plugin can be code for another program."""
    return path.endswith(".py") and isinstance(tool.backend, PythonBackend)


def _is_same_program(old: str | None, new: str | None) -> bool:
    """Return whether two Python files differ only in comments and layout."""
    if old is None or new is None:
        return False
    if any(len(each) > _MAX_CHARACTERS or steps_to_parse(each) > _MAX_STEPS for each in (old, new)):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings concern the author of the code, not the review
            # Parse bytes, as Python does with a file, because a comment can declare another encoding.
            return ast.dump(ast.parse(old.encode())) == ast.dump(ast.parse(new.encode()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _requirements(sides: Sides, before: ToolSpec | None, after: ToolSpec) -> Iterator[ToolChange]:
    old, new = _packages(before), _packages(after)
    if old == new:
        return
    message = "the packages of the tool changed" if before else "the tool installs packages"
    route = ("backend", "python", "requirements")
    yield sides.risk(DEPENDENCY, "high", message, route, ", ".join(old) or None, ", ".join(new) or None)


def _packages(tool: ToolSpec | None) -> tuple[str, ...]:
    return tool.backend.packages if tool else ()


def _calls(sides: Sides) -> Iterator[ToolChange]:
    """Yield a change for each called tool, under any of its names, that was replaced or has another effect."""
    for name in called_tools(sides.after):
        before, after = sides.state_before.by_name.get(name), sides.state_after.by_name.get(name)
        route = ("backend", sides.after.backend.tag)
        old_name, new_name = before.name if before else None, after.name if after else None
        if old_name != new_name and sides.before and name in called_tools(sides.before):
            if _is_renamed(sides, before, after):
                message = f"the called tool {name} was renamed, but has the same effect"
                yield sides.risk("RSK07", "low", message, route, old_name, new_name, subject=name)
            else:
                message = f"the name {name} now refers to another tool"
                yield sides.risk("RSK07", "high", message, route, old_name, new_name, subject=name)
        elif before and after and _digests(sides.state_before, before) != _digests(sides.state_after, after):
            both = _digests(sides.state_before, before), _digests(sides.state_after, after)
            message = f"the called tool {name} changed"
            yield sides.risk("RSK07", "low", message, route, *both, subject=name)


def _is_renamed(sides: Sides, before: ToolSpec | None, after: ToolSpec | None) -> bool:
    """Return whether only the name of the tool changed: the old name leads to the new tool, with the same effect."""
    if before is None or after is None or sides.state_after.by_name.get(before.name) is not after:
        return False
    return sides.state_before.digests(before.name).effect == sides.state_after.digests(after.name).effect


def _digests(state: State, tool: ToolSpec) -> str:
    digests = state.digests(tool.name)
    return f"surface={digests.surface} effect={digests.effect}"


def remaining_effects(sides: Sides, reported: Sequence[ToolChange]) -> Iterator[ToolChange]:
    """Yield a change for each part of the effect that differs and that no change in ``reported`` covers."""
    if sides.old is None:
        return
    for part in changed_parts(sides.old, sides.new, EFFECT):
        if part.route[0] == "caller":
            continue  # RSK22 reports all of it
        if not _is_reported_program(sides, part) and not any(_covers(each.path, part.route) for each in reported):
            yield _change(sides, part)


def _is_reported_program(sides: Sides, part: Part) -> bool:
    """Return whether the part is a program or a package that ``check_programs`` reports."""
    assert sides.before is not None
    kind, *place = part.route[1:] or ("",)
    if part.route == ("backend", "python", "entry"):
        return _moved_program(sides.before, sides.after) is not None
    if part.route[0] != "backend" or kind != sides.after.backend.tag or not sides.after.backend.runs_programs:
        return False
    is_text = place in (["files"], ["command", "script", "text"])
    return place == ["requirements"] or (is_text and programs(sides.before) != programs(sides.after))


def _covers(reported: Route, route: Route) -> bool:
    """Return whether a reported path covers ``route``. ``timeout`` in a spec is stored as ``timeout_ms``."""
    if reported == ("sandbox",):  # a change of what tools may do together does not cover single keys
        return False
    if reported[:1] == ("sandbox",) and reported[1:2] not in {("limits",), ("env",)}:
        return route[:1] == ("sandbox",) and (route[1] == reported[1] or (reported[1], route[1]) in _SAME_CHANGE)
    is_all_of_backend = route[0] == "backend" and len(reported) < 3
    if is_all_of_backend or len(reported) > len(route):
        return False
    return all(one == stored or str(stored).startswith(f"{one}_") for one, stored in zip(reported, route, strict=False))


def _changes_programs(part: Part, tool: Reviewed) -> bool:
    """Return whether changed variables in ``sandbox.env`` affect the command, a loader, an interpreter or a client."""

    def variables(value: JsonValue) -> set[tuple[str, str]]:
        entries = value if isinstance(value, list) else []
        return {(str(each["name"]), to_json_text(each["value"]) or "") for each in entries if isinstance(each, dict)}

    before, after = variables(part.before), variables(part.after)
    is_shell = isinstance(tool.spec.backend, ShellBackend)
    command = to_json_text(tool.stored["backend"]) or "" if is_shell else ""
    return any(_DECISIVE.fullmatch(name) or _DECISIVE_VALUE.search(value) for name, value in after - before) or any(
        re.search(rf"\$\{{?{re.escape(name)}(?!\w)", command) for name, _ in before ^ after
    )


def _adds_optional_fields(sides: Sides, part: Part) -> bool:
    """Return whether the query only has more fields, each for a new optional parameter without a default."""
    if sides.before is None or not isinstance(part.before, list) or not isinstance(part.after, list):
        return False
    old, new = sides.before.parameters.properties, sides.after.parameters
    optional = {
        name
        for name, schema in new.properties.items()
        if name not in old and name not in list_under(new.value, "required") and "default" not in schema
    }
    added = [each for each in part.after if each not in part.before]
    return all(each in part.after for each in part.before) and all(
        isinstance(each, dict) and each["value"] in [[{"filters": [], "keys": [], "name": name}] for name in optional]
        for each in added
    )


def _change(sides: Sides, part: Part) -> ToolChange:
    grade: Grade = "high"
    message = f"the effect of a call changed: {format_route(part.route)}"
    if part.route[:2] in {("sandbox", "env"), ("sandbox", "secret_env")}:
        grade, message = "medium", "the environment of the tool changed"
        if _changes_programs(part, sides.new):
            grade, message = "high", "the environment of the tool changed, which determines the code or host used"
    elif part.route == ("backend", "python", "preload"):
        grade, message = "medium", "the modules that are imported before a call changed"
    elif part.route == ("backend", "http", "query") and _adds_optional_fields(sides, part):
        grade, message = "medium", "callers can set more fields of the query; existing calls send the same query"
    elif part.route[0] in _REPORTED_FIELDS:
        grade, message = "low", f"{format_route(part.route)} changed"
    elif part.route[:2] == ("result", "files"):
        message = "a call returns other files of the workspace"
    elif part.route == ("result", "raw") and part.after:
        grade, message = "medium", "the model reads the control sequences of terminals, which can hide text from users"
    elif part.route[0] == "result":
        grade, message = "medium", "the conversion of output to results changed"
    before, after = to_json_text(as_in_spec(part.before)), to_json_text(as_in_spec(part.after))
    if before == after:  # for example a text that only looks like a placeholder
        before, after = to_json_text(part.before), to_json_text(part.after)
    return sides.risk("RSK07", grade, message, part.route, before, after)
