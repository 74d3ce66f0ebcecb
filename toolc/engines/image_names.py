"""What an image's content is called: by its manifest, as registries do, and by its configuration.

Docker's classic store knows an image by its configuration, and the manifest of one that came from a registry or
went there; its containerd store knows images by their manifests alone. So the ids of the two are never the same.
"""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonObject

MANIFEST: Final = "manifest:"
CONFIG: Final = "config:"


def names_of(answer: JsonObject) -> tuple[str, ...]:
    """The names in what ``GET /images/NAME/json`` says: by manifest, sorted, then by configuration if known.

    As ``manifest:sha256:...`` and ``config:sha256:...``.
    """
    kept, told = answer.get("RepoDigests"), answer.get("Descriptor")
    digests = {str(each).rpartition("@")[2] for each in kept} if isinstance(kept, list) else set()
    if isinstance(told, dict) and isinstance(told.get("digest"), str):  # of the containerd store alone
        digests.add(str(told["digest"]))
    known = [f"{MANIFEST}{each}" for each in sorted(digests)]
    own = str(answer.get("Id"))
    return tuple(known) if own in digests else (*known, f"{CONFIG}{own}")


def chosen(names: tuple[str, ...], image: str) -> str:
    """The name to approve ``image`` by: the one that a spec names itself, else the first."""
    pinned = f"{MANIFEST}{image.rpartition('@')[2]}"
    return pinned if pinned in names else names[0]
