"""``.toolc-import/NAME.json`` records what an import generated. It is the base of the next merge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, map_under

FOLDER: Final = ".toolc-import"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The source and the options of an import, and the generated text of each file.

    ``names`` has the tool name of each operation, which later imports keep.
    """

    kind: str
    source: str
    digest: str
    options: JsonObject = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return the content of the record file."""
        value = {
            "format": _FORMAT, "kind": self.kind, "source": self.source, "digest": self.digest,
            "options": self.options, "names": {**self.names}, "files": {**self.files},
        }  # fmt: skip
        return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def digest_of(data: bytes) -> str:
    """Return the digest of a source."""
    return f"sha256:{sha256(data).hexdigest()}"


def read_record(folder: Path, name: str, kind: str) -> Record | None:
    """Return the record of the import ``name`` into a folder, or None if there is none. Raises ``UsageError``."""
    place = folder / FOLDER / f"{name}.json"
    try:
        value: JsonValue = json.loads(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        raise UsageError(f"{place} cannot be read; restore it from your repository, or delete it") from None
    if not isinstance(value, dict) or value.get("format") != _FORMAT or value.get("kind") != kind:
        raise UsageError(f"{place} is not the record of an import of this kind; import to another folder with --out")
    files, names = map_under(value, "files"), map_under(value, "names")
    return Record(
        kind=kind, source=str(value.get("source")), digest=str(value.get("digest")),
        options=map_under(value, "options"), names={key: str(each) for key, each in names.items()},
        files={key: str(each) for key, each in files.items() if _is_below(key)},
    )  # fmt: skip


def _is_below(path: str) -> bool:
    """Return whether a path is below the folder of the import.

    Records are not trusted, because anyone can edit them.
    """
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and parts[0] not in {"/", FOLDER}
