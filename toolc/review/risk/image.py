"""RSK03: a call runs in another image."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Final

from toolc.review.change import Change, Grade
from toolc.review.risk.sides import Sides
from toolc.spec import Build, ToolSpec
from toolc.spec_composite import CompositeBackend

RULE: Final = "RSK03"


def check(sides: Sides) -> Iterator[Change]:
    """Another image, or another folder that one is built from."""
    was, now = sides.was, sides.now
    if isinstance(now.backend, CompositeBackend):
        return
    before, after = _image(was), _image(now)
    if before != after and (was is not None or now.sandbox.image or now.sandbox.build):
        words, grade = _judged(was, now)
        route = ("sandbox", "build" if now.sandbox.build else "image")
        yield sides.risk(RULE, grade, words, route, before, after)
    elif was and was.sandbox.build and now.sandbox.build and was.sandbox.build != now.sandbox.build:
        changed = ", ".join(_changed(was.sandbox.build, now.sandbox.build)[:10])
        words = f"the image is built from other files: {changed}"
        both = _digest(was.sandbox.build), _digest(now.sandbox.build)
        yield sides.risk(RULE, "high", words, ("sandbox", "build"), *both)


def _judged(was: ToolSpec | None, now: ToolSpec) -> tuple[str, Grade]:
    old, new = was.sandbox.image if was else None, now.sandbox.image
    if old and new:
        name, _, digest = old.partition("@")
        new_name, _, new_digest = new.partition("@")
        if digest and not new_digest:
            return "the image is no longer named by its digest", "high"
        if digest and new_digest and name == new_name:
            return "a call runs in another build of its image", "medium"
        if name.rpartition("/")[0] != new_name.rpartition("/")[0]:
            return "the image comes from elsewhere", "high"
    return "a call runs in another image", "high"


def _image(tool: ToolSpec | None) -> str | None:
    if tool is None:
        return None
    return f"build: {tool.sandbox.build.folder}" if tool.sandbox.build else tool.sandbox.image or "the base image"


def _digest(build: Build) -> str:
    """What the files are, so that one change of them is not taken for another."""
    held = [[file.path, file.text, file.base64] for file in build.files]
    return f"sha256:{hashlib.sha256(json.dumps(held).encode()).hexdigest()}"


def _changed(old: Build, new: Build) -> list[str]:
    before, after = ({file.path: file for file in build.files} for build in (old, new))
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
