"""What a provider makes of a tool: a definition that says less than before, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from toolc.model.provider_names import PROVIDER_NAMES
from toolc.model.spec.tool import ToolSpec
from toolc.review.change import Change
from toolc.review.state import Reviewed

if TYPE_CHECKING:
    from toolc.providers.base import Provider

_FIELDS: Final = ("parameters", "result_schema", "providers", "examples", "annotations")
"""What of a tool a provider may be unable to say."""

_NEVER_SAID: Final = frozenset({"/label", "/annotations"})


def changes(old: Reviewed, new: Reviewed) -> Iterator[Change]:
    """For each provider that loses something of the tool's definition which it did not lose before."""
    if all(getattr(old.spec, field) == getattr(new.spec, field) for field in _FIELDS):
        return
    from toolc.providers import load_provider  # slow to import, and few changes are of a schema

    for number, name in enumerate(PROVIDER_NAMES, 1):
        provider = load_provider(name)
        before, after = _losses(provider, old.spec), _losses(provider, new.spec)
        lost = [words for words in after if words not in before]
        if lost:
            yield Change(
                kind="provider",
                rule=f"PRV{number:02}",
                grade="warning",
                message=f"{name} cannot say {len(lost)} more detail{'s' * (len(lost) > 1)}: {lost[0]}",
                path=("parameters",),
                before="\n".join(before) or None,
                after="\n".join(after),
                old=old.span("parameters"),
                new=new.span("parameters"),
            )


def _losses(provider: Provider, tool: ToolSpec) -> list[str]:
    """What is lost, each with its place, but for what a provider has no place for in any tool."""
    return [
        f"{loss.message} ({loss.pointer or 'the whole'})"
        for loss in provider.lower([tool]).losses
        if loss.pointer not in _NEVER_SAID
    ]
