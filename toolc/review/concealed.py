"""Hide credentials in changes. Credentials in a spec or a registry are never printed, even if they were removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from toolc.compiler.checks.credentials import literal_credentials
from toolc.compiler.text_analysis import credentials
from toolc.compiler.text_analysis.credentials import Concealer
from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue, value_at, values_within
from toolc.model.text import lazy_re
from toolc.review.model.change import Counterexample, ToolChange
from toolc.review.model.state import Reviewed

_PART: Final = 8
"""The length of the parts of a credential that are hidden everywhere, so that cut texts do not show the rest."""

_PRIVATE_KEY: Final = lazy_re(r"(?<=PRIVATE KEY-----)(?:(?!-----)[\s\S]){1,20000}")
"""The text of a PEM private key between its header and its end."""

_PEM: Final = frozenset({"PRIVATE", "-----BEGIN", "KEY-----"})


@dataclass(frozen=True, slots=True)
class Hidden:
    """The credentials of some tools: the words in them, and all of their parts that have ``_PART`` characters."""

    words: Concealer
    parts: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, tools: Iterable[Reviewed], parts_in: Callable[[str], frozenset[str]]) -> Hidden:
        """Return the credentials in the specs of ``tools``. ``parts_in`` is ``credential_parts``, perhaps cached."""
        placed, parts = list[str](), list[frozenset[str]]()
        for tool in tools:
            stored = tool.stored
            named = _parameter_values(stored)
            if tool.located:
                placed += [each.value for each in literal_credentials(tool.located)]
            else:
                named = chain(named, _named(stored["backend"]), _named(value_at(stored, ("sandbox", "env"))))
            placed += _assigned(named)
            texts = [tool.source.text] if tool.source else [*_strings(tool.stored)]
            parts += [each for text in texts if (each := parts_in(text))]
        return cls(Concealer.of(placed, min_length=1), (_parts(placed), *dict.fromkeys(parts)))

    def text(self, text: str) -> str:
        """Return ``text`` with each character of a credential replaced."""
        shown = credentials.conceal_text(self.words.text(text))
        starts = range(len(shown) - _PART + 1 if any(self.parts) else 0)
        return credentials.masked(
            shown, ((at, at + _PART) for at in starts if any(shown[at : at + _PART] in each for each in self.parts))
        )

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without credentials in its strings and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        return {self.text(key): self.value(each) for key, each in value.items()} if isinstance(value, dict) else value


def credential_parts(text: str) -> frozenset[str]:
    """Return all parts of the credentials in the text of a file. Many tools may have the same file."""
    found = [text[start:end] for start, end in credentials.secret_ranges(text)]
    return _parts([*found, *(match[0] for match in _PRIVATE_KEY.finditer(text))])


def _parts(values: Iterable[str]) -> frozenset[str]:
    words = (word for value in values for word in value.split() if word not in _PEM)
    return frozenset(word[at : at + _PART] for word in words for at in range(len(word) - _PART + 1))


def conceal_change(change: ToolChange, hidden: Hidden) -> ToolChange:
    """Return the change without credentials in any of its texts."""
    witness = change.witness
    return replace(
        change,
        message=hidden.text(change.message),
        path=tuple(hidden.text(step) if isinstance(step, str) else step for step in change.path),
        before=None if change.before is None else hidden.text(change.before),
        after=None if change.after is None else hidden.text(change.after),
        witness=witness and Counterexample(hidden.value(witness.value), hidden.text(witness.refusal)),
        no_witness=hidden.text(change.no_witness),
    )


def _strings(value: JsonValue) -> Iterator[str]:
    """Yield all strings and keys in a value."""
    for _, each in values_within(value):
        if isinstance(each, str | dict):
            yield from [each] if isinstance(each, str) else each


def _assigned(named: Iterable[tuple[str, JsonValue]]) -> Iterator[str]:
    """Yield the literal values in ``named`` whose names suggest a credential."""
    for name, value in named:
        if credentials.credential_name(name) or credentials.credential_header(name):
            words = [credentials.without_scheme(text) for text in _literals(value)]
            yield from (word for word in words if len(word) >= _PART // 2 and not credentials.is_exempt(word))


def _named(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield each value in a stored tool with its key, or with the ``name`` of its entry in a list."""
    for _, each in values_within(value):
        if isinstance(each, dict):
            if isinstance(name := each.get("name"), str) and "value" in each:
                yield name, each["value"]
            yield from each.items()


def _parameter_values(stored: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    properties = value_at(stored, ("parameters", "properties"))
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if isinstance(schema, dict):
            yield from ((name, schema[key]) for key in ("default", "const") if key in schema)


def _literals(value: JsonValue) -> Sequence[str]:
    """Return the literal text of a string or of a template, or ``""`` for any other value."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
