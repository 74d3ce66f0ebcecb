"""toolc's own content blocks, as functions of the host's process give them, in the form that a guest writes."""

from __future__ import annotations

import base64

from toolc.guest.context import Resource as GuestResource
from toolc.guest.context import Result
from toolc.model.result import Audio, Image, Resource, Text


def shown(value: object) -> object:
    """``value`` with toolc's own blocks, alone, in a list or in ``ctx.result``, as a guest writes them."""
    match value:
        case Result():
            return Result(shown(value.content), value.structured, value.details)
        case list() | tuple():
            return [_block(each) for each in value]
        case _:
            return _block(value)


def _block(value: object) -> object:
    match value:
        case Text():
            return {"type": "text", "text": value.text}
        case Image() | Audio():
            kind = "image" if isinstance(value, Image) else "audio"
            return {"type": kind, "mimeType": value.mime_type, "data": base64.b64encode(value.data).decode()}
        case Resource():
            return GuestResource(value.data, value.mime_type, value.name)
        case _:
            return value
