"""The tool json_query: a JMESPath expression on a JSON file in the workspace, or on a JSON text."""

import json
import re

import jmespath
from files import explained, inside, ordinary
from jmespath.exceptions import JMESPathError

MAX_BYTES = 20 * 2**20
LINES = (".jsonl", ".ndjson")
"""The suffixes of files with one JSON value per line."""


def json_query(query, ctx, path=None, json=None):
    """Return the value of an expression; null if nothing matches, with the names that exist."""
    if (path is None) == (json is None):
        raise ctx.error("invalid_args", "give either path or json")
    data = from_file(path, ctx) if json is None else parsed(json, "json", ctx)
    try:
        result = jmespath.search(query, data)
    except (ArithmeticError, JMESPathError, TypeError, ValueError) as error:
        message = f"the query {query!r} cannot be used: {' '.join(str(error).split())}{hint_for(query)}"
        raise ctx.error("invalid_args", message) from None
    except RecursionError:
        raise ctx.error("invalid_args", "the query or the JSON is nested too deeply") from None
    text = written(result, ctx)
    if result is None:
        text += f"\n[nothing matches, or the value is null; the JSON is {described(data)}]"
    return ctx.result(text, structured={"result": result})


def hint_for(query):
    """Return a hint for what is written as in other languages."""
    if query.lstrip().startswith("$"):
        return "; JMESPath has no $ for the whole value, so begin with a name, or with @"
    if re.search(r"\.[0-9]", query):
        return "; write a position in brackets, e.g. users[0].name"
    is_bare = re.search(r"[<>=]\s*(-?[0-9]|true|false|null)", query)
    return "; write numbers, booleans and null in backquotes, e.g. [?age > `25`]" if is_bare else ""


def from_file(path, ctx):
    target = inside(path, ctx)
    try:
        if target.stat().st_size > MAX_BYTES:
            raise ctx.error("file", f"{path} is larger than {MAX_BYTES // 2**20} MiB")
        text = ordinary(target).read_bytes().decode("utf-8-sig")
    except UnicodeError as error:
        raise ctx.error("serialization", f"{path} is not UTF-8: {error}") from None
    except OSError as error:
        raise explained(error, path, ctx) from None
    if not path.endswith(LINES):
        return parsed(text, path, ctx)
    lines = enumerate(text.split("\n"), 1)
    return [parsed(line, f"line {number} of {path}", ctx) for number, line in lines if line.strip()]


def parsed(text, name, ctx):
    try:
        return json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError) as error:
        raise ctx.error("serialization", f"{name} is not JSON: {error}") from None


def refused(constant):
    raise ValueError(f"{constant} is not a JSON number")


def written(value, ctx):
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        message = "the result is not JSON: an expression such as &name is not a value, or a number is too large"
        raise ctx.error("invalid_args", message) from None


def described(value):
    if isinstance(value, dict):
        names = ", ".join(map(repr, list(value)[:20])) or "(none)"
        return f"an object with the names {names}{' and more' if len(value) > 20 else ''}"
    if isinstance(value, list):
        first = f", the first {described(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"a list of {len(value)} items{first}"
    return json.dumps(value, ensure_ascii=False)[:80]
