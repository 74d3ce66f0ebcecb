"""Parse the expression of one placeholder with Jinja2's parser.

Only templates with more than names in their placeholders need this module, because Jinja2 is slow to import.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.parser import Parser

from toolc.document.suggestions import quote_names, suggestion
from toolc.model.template import FILTERS, FILTERS_WITH_ARGUMENT, Filter, Placeholder

_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  nothing is ever rendered with it
_GRAMMAR_HINT: Final = "a placeholder has a parameter's name, keys and filters, as in {{ name.key | filter }}"

_KINDS: Final = {
    "Call": "a call", "CondExpr": "a condition", "Const": "a number or other constant", "Test": "a test",
    "List": "a list", "Dict": "a map", "Tuple": "a list", "Compare": "a comparison",
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow", "Neg", "Pos"), "arithmetic"),
    **dict.fromkeys(("And", "Or", "Not"), "a condition"), "Concat": "joining with '~'",
}  # fmt: skip


class InvalidPlaceholderError(Exception):
    """Raised for an expression that is not allowed in a placeholder."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@lru_cache(maxsize=4096)
def parse_expression(expression: str) -> str | Placeholder:
    """Return a placeholder, or the text of a string in quotes. Raises ``InvalidPlaceholderError`` for anything else."""
    try:
        parser = Parser(_ENVIRONMENT, expression, state="variable")
        parsed = parser.parse_expression()
        if not parser.stream.eos:
            raise InvalidPlaceholderError(f"'{_one_line(expression)}' is not one expression", _GRAMMAR_HINT)
    except TemplateSyntaxError as error:
        reason = (error.message or "a syntax error").splitlines()[0]
        raise InvalidPlaceholderError(f"'{_one_line(expression)}' cannot be read: {reason}", _GRAMMAR_HINT) from error
    except RecursionError as error:
        raise InvalidPlaceholderError("this expression is nested too deeply", _GRAMMAR_HINT) from error
    if isinstance(parsed, nodes.Const) and isinstance(parsed.value, str):
        return parsed.value
    return _placeholder(parsed)


def _one_line(expression: str) -> str:
    """Return an expression on one line, for a message."""
    return " ".join(expression.split())[:60]


def _placeholder(node: nodes.Expr) -> Placeholder:
    filters: list[Filter] = []
    keys: list[str] = []
    while isinstance(node, nodes.Filter) and node.node is not None:
        filters.append(_filter(node))
        node = node.node
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        keys.append(_key(node))
        node = node.node
    if not isinstance(node, nodes.Name):
        kind = _KINDS.get(type(node).__name__, "this expression")
        raise InvalidPlaceholderError(f"{kind} is not allowed in a placeholder", _other_form(node))
    return Placeholder(node.name, tuple(reversed(keys)), tuple(reversed(filters)))


def _other_form(node: nodes.Node) -> str:
    """Return the hint for an expression of Jinja or Ansible."""
    match node:
        case nodes.Call(node=nodes.Name(name="lookup" | "getenv" | "env"), args=[*_, nodes.Const(value=str() as name)]):
            return f"for a secret, write {{{{ secrets.{name:.80} }}}} and declare it under sandbox.secrets"
        case nodes.CondExpr(test=nodes.Name(name=name)):
            return f'write {{when: {name}, argv: [...]}} in argv, or a script that tests "$ARG_{name}"'
        case nodes.Sub(left=nodes.Name(name=left), right=nodes.Name(name=right)):
            return f"for a parameter with two words, write {{{{ {left}_{right} }}}}"
        case _:
            return _GRAMMAR_HINT


_OTHER_FILTERS: Final = {
    **dict.fromkeys(("d", "default"), "give the parameter a default, with default: VALUE next to its type"),
    **dict.fromkeys(("e", "escape", "quote", "shellquote"), "remove it, because each element of argv is one argument"),
    **dict.fromkeys(("to_json", "tojson"), "write json"),
    "url_encode": "write urlencode",
}
"""The hints for filters of Jinja and Ansible."""


def _key(node: nodes.Getattr | nodes.Getitem) -> str:
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        return node.arg.value
    raise InvalidPlaceholderError("brackets can contain only a key in quotes", "write {{ name['key'] }}")


def _filter(node: nodes.Filter) -> Filter:
    if node.name not in FILTERS:
        hint = (
            _OTHER_FILTERS.get(node.name)
            or suggestion(node.name, FILTERS)
            or f"the filters are {quote_names(sorted(FILTERS))}"
        )
        raise InvalidPlaceholderError(f"there is no filter '{node.name}'", hint)
    arguments = [each.value for each in node.args if isinstance(each, nodes.Const) and isinstance(each.value, str)]
    most = 1 if node.name in FILTERS_WITH_ARGUMENT else 0
    if node.kwargs or node.dyn_args or node.dyn_kwargs or len(arguments) != len(node.args) or len(arguments) > most:
        takes = "one string in quotes" if most else "no argument"
        example = f"write {node.name}(', ')" if most else f"write {node.name} alone"
        raise InvalidPlaceholderError(f"the filter '{node.name}' takes {takes}", example)
    return Filter(node.name, arguments[0] if arguments else None)
