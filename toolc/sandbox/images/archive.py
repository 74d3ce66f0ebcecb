"""Read image archives: the output of ``docker save``, and OCI image layouts, as a tar file or a folder.

All content is verified against its digests before use. Only images for this machine's platform are accepted.
"""

import bz2
import gzip
import hashlib
import importlib
import io
import json
import lzma
import platform
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import IO, Final, cast

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.images.tree import Tree
from toolc.sandbox.images.unpack import LayerReader, UnpackBudget, unpack

MAX_FILES: Final = 10_000
MAX_NAME: Final = 4096
MAX_WORDS: Final = 1000
"""The maximum number of extended header records of one file.

Archives of ``docker save`` have a few hundred files with short names, and a few such records.
"""

MAX_READ: Final = 16 * 1024 * 1024
"""The maximum size of one read, in bytes. Content is read in smaller pieces, and valid headers are smaller."""

_DECOMPRESSION_ERRORS: Final = (gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_COMPRESSIONS: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))

MAX_JSON: Final = 8 * 1024 * 1024
"""The maximum size of a manifest or configuration, in bytes. Its JSON is kept in memory.

A typical configuration has a few kilobytes.
"""

MAX_LAYERS: Final = 1000
MAX_NESTING: Final = 4
"""The maximum number of levels of nested image indexes.

Docker allows 127 layers per image, and real indexes have two levels.
"""

COPY_BYTES: Final = 1024 * 1024
"""The number of bytes to copy at once. Larger pieces are not faster."""

ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of a Zstandard frame (RFC 8878)."""

_NAME: Final = "org.opencontainers.image.ref.name"
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@contextmanager
def open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Yield a tar file after reading all its headers. Raises ``OSError``, ``ValueError`` and decompression errors."""
    with path.open("rb") as packed, _decompressed(packed) as file, _open_tar(file) as tar:
        _read_headers(tar)
        yield tar


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveImage:
    """One image of an archive: its configuration, the digest and bytes of that, and the names of its layers."""

    digest: str
    configuration: JsonObject
    layers: tuple[str, ...]
    data: bytes


class Archive:
    """An open image archive. ``origin`` is its path, for messages."""

    def __init__(self, files: "_Folder | _Tar", origin: str) -> None:
        self._files = files
        self._origin = origin

    def image(self, name: str | None = None) -> ArchiveImage:
        """Return the image of this name, or the only one. Raises ``InfrastructureError``, which lists the names."""
        found = self._saved_images() if "manifest.json" in self._files else self._layout_images()
        named = [image for names, image in found if name in names]
        if len(found) == 1 or named:
            return _check_platform(named[0] if named else found[0][1], self._origin)
        names = ", ".join(sorted(each for names, _ in found for each in names)) or "they have no names"
        raise InfrastructureError(f"{self._origin} contains {len(found)} images; choose one by its name: {names}")

    def unpack(self, image: ArchiveImage, root: Path) -> str:
        """Unpack all layers into the empty folder ``root``, and return their tree. Raises ``InfrastructureError``."""
        budget, tree = UnpackBudget(), Tree()
        for name, digest in self._layers(image):
            with closing(self._files.open(name)) as packed, _layer(packed) as source:
                reader = LayerReader(source, budget.bytes_left + 1024 * budget.entries_left)
                unpack(reader, str(root), budget, tree)
                self._check_digest(name, reader.digest(), digest)
        return tree.digest()

    def save(self, image: ArchiveImage, path: Path, name: str) -> None:
        """Write only this image to a new file, as ``docker save`` does. Raises ``InfrastructureError``."""
        budget = UnpackBudget()
        layers: list[JsonValue] = []
        with tarfile.open(path, "x", format=tarfile.PAX_FORMAT) as tar:
            for layer, digest in self._layers(image):
                plain = path.with_name("layer.tar")
                with closing(self._files.open(layer)) as packed, _layer(packed) as source, plain.open("wb") as file:
                    reader = LayerReader(source, budget.bytes_left + 1024 * budget.entries_left)
                    while piece := reader.read(COPY_BYTES):
                        file.write(piece)
                    self._check_digest(layer, reader.digest(), digest)
                layers.append(f"{digest.partition(':')[2]}/layer.tar")
                tar.add(plain, str(layers[-1]), filter=_without_owner)
                plain.unlink()
            _add_description(tar, image.data, layers, name)
        path.chmod(0o644)

    def _layers(self, image: ArchiveImage) -> list[tuple[str, str]]:
        """Return the name and the digest of each layer. The digest is that of the decompressed layer."""
        digests = _strings(_object(image.configuration.get("rootfs")).get("diff_ids"))
        if len(digests) != len(image.layers) or len(digests) > MAX_LAYERS:
            raise InfrastructureError(f"{self._origin} is damaged: it has {len(image.layers)} of {len(digests)} layers")
        return [*zip(image.layers, digests, strict=True)]

    def _check_digest(self, layer: str, found: str, digest: str) -> None:
        if found != digest:
            raise InfrastructureError(f"{self._origin} is damaged: the digest of layer {layer} is not {digest}")

    def _saved_images(self) -> list[tuple[list[str], ArchiveImage]]:
        """Return the images in ``manifest.json``, as written by ``docker save``."""
        entries = _list(json.loads(self._read("manifest.json")))
        return [
            (_strings(each.get("RepoTags")), self._image(str(each.get("Config")), _strings(each.get("Layers"))))
            for each in map(_object, entries)
        ]

    def _layout_images(self) -> list[tuple[list[str], ArchiveImage]]:
        """Return the images in ``index.json`` of an OCI image layout."""
        index = _object(json.loads(self._read("index.json")))
        return [
            ([str(_object(entry.get("annotations") or {}).get(_NAME))], self._by_manifest(manifest))
            for entry, manifest in self._manifests(index, MAX_NESTING)
        ]

    def _manifests(self, index: JsonObject, depth: int) -> Iterator[tuple[JsonObject, JsonObject]]:
        for entry in map(_object, _list(index.get("manifests"))):
            machine = _object(entry.get("platform") or {}).get("architecture")
            if machine in {None, _machine()} and depth:
                value = _object(json.loads(self._verified(str(entry.get("digest")))))
                if "manifests" in value:
                    yield from ((entry, inner) for _, inner in self._manifests(value, depth - 1))
                else:
                    yield entry, value

    def _by_manifest(self, manifest: JsonObject) -> ArchiveImage:
        layers = [_blob(str(_object(layer).get("digest"))) for layer in _list(manifest.get("layers"))]
        digest = str(_object(manifest.get("config")).get("digest"))
        self._verified(digest)
        return self._image(_blob(digest), layers)

    def _image(self, configuration: str, layers: Sequence[str]) -> ArchiveImage:
        data = self._read(configuration)
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        return ArchiveImage(digest=digest, configuration=_object(json.loads(data)), layers=tuple(layers), data=data)

    def _verified(self, digest: str) -> bytes:
        data = self._read(_blob(digest))
        if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
            raise InfrastructureError(f"{self._origin} is damaged: the digest of a blob is not {digest:.80}")
        return data

    def _read(self, name: str) -> bytes:
        with closing(self._files.open(name)) as file:
            data = file.read(MAX_JSON + 1)
        if len(data) > MAX_JSON:
            raise InfrastructureError(f"{self._origin} is not an image archive: {name} is too large")
        return data


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Yield an open archive: a tar file or a folder. Raises ``InfrastructureError``, also within the block."""
    with ExitStack() as stack:
        try:
            if path.is_dir():
                yield Archive(_Folder(path), str(path))
            else:
                yield Archive(_Tar(stack.enter_context(open_tar(path)), str(path)), str(path))
        except RecursionError:
            raise InfrastructureError(f"{path} is not an image archive: its JSON is nested too deeply") from None
        except (tarfile.TarError, EOFError, ValueError, KeyError, *_DECOMPRESSION_ERRORS) as error:
            raise InfrastructureError(
                f"{path} is not an image archive: {error}; create one with: docker save --output FILE IMAGE"
            ) from error
        except OSError as error:
            raise InfrastructureError(f"cannot unpack {path}: {error.strerror or error}") from error


def write_archive(layer: Path, configuration: JsonObject, name: str, target: Path) -> None:
    """Write an image with one layer, an uncompressed tar, as ``docker save`` does.

    The digest of the layer and this machine's platform are added to ``configuration``. Raises ``OSError``.
    """
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rootfs: JsonObject = {"type": "layers", "diff_ids": [f"sha256:{digest}"]}
    data = json.dumps({"os": "linux", "architecture": _machine(), "rootfs": rootfs, **configuration}).encode()
    with tarfile.open(target, "x", format=tarfile.PAX_FORMAT) as tar:
        tar.add(layer, f"{digest}/layer.tar", filter=_without_owner)
        _add_description(tar, data, [f"{digest}/layer.tar"], name)


def _add_description(tar: tarfile.TarFile, configuration: bytes, layers: Sequence[JsonValue], name: str) -> None:
    config_name = f"{hashlib.sha256(configuration).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [*layers]}]).encode()
    for each, content in ((config_name, configuration), ("manifest.json", manifest)):
        entry = tarfile.TarInfo(each)
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


class _BoundedReader:
    """A file that refuses reads of more than ``MAX_READ``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_READ:
            raise tarfile.ReadError(f"it has a header of more than {MAX_READ} bytes")
        return self._file.read(size)


def _open_tar(file: IO[bytes]) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=cast("IO[bytes]", _BoundedReader(file)), mode="r:")
    except tarfile.ReadError:
        # tarfile's own message is about headers.
        raise ValueError("it is not a tar file") from None


def _decompressed(packed: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    magic = packed.read(6)
    packed.seek(0)
    for beginning, decompress in _COMPRESSIONS:
        if magic.startswith(beginning):
            return cast("AbstractContextManager[IO[bytes]]", decompress(packed))
    return nullcontext(packed)


def _read_headers(tar: tarfile.TarFile) -> None:
    number = 0
    while (member := tar.next()) is not None:
        number += 1
        if len(member.name) > MAX_NAME or len(member.linkname) > MAX_NAME or len(member.pax_headers) > MAX_WORDS:
            raise tarfile.ReadError("it has a file with a header that is too long")
        if number > MAX_FILES:
            raise tarfile.ReadError(f"it contains more than {MAX_FILES} files")


@dataclass(frozen=True, slots=True)
class _Folder:
    folder: Path

    def open(self, name: str) -> IO[bytes]:
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise InfrastructureError(f"{self.folder} refers to a file outside of it: {name!r:.200}")
        return path.open("rb")

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file()


@dataclass(frozen=True, slots=True)
class _Tar:
    tar: tarfile.TarFile
    origin: str

    def open(self, name: str) -> IO[bytes]:
        # Entries are found by name, and through the links that docker save creates between equal layers.
        file = self.tar.extractfile(name)
        if file is None:
            raise InfrastructureError(f"{self.origin} is not an image archive: {name!r:.200} is not a file in it")
        return file

    def __contains__(self, name: str) -> bool:
        return name in self.tar.getnames()


@contextmanager
def _layer(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a layer, decompressed. The compression is detected by the first bytes."""
    magic = packed.read(4)
    packed.seek(0)
    if magic == ZSTD:
        zstd = _zstd()
        try:
            with zstd.ZstdFile(packed) as plain:
                yield cast("IO[bytes]", plain)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
    elif magic[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=packed) as plain:
            yield cast("IO[bytes]", plain)
    else:
        yield packed


def _zstd() -> ModuleType:
    """Return the zstd module of the standard library (Python 3.14). Raises ``InfrastructureError`` if it is missing."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        raise InfrastructureError(
            f"a layer of the image is compressed with zstd, which Python {sys.version_info[0]}.{sys.version_info[1]} "
            "cannot decompress; run toolc with Python 3.14 or later, or use gzip: skopeo copy "
            "--dest-compress-format gzip --dest-force-compress-format SOURCE oci-archive:FILE"
        ) from None


def _check_platform(image: ArchiveImage, origin: str) -> ArchiveImage:
    machine = image.configuration.get("architecture")
    if image.configuration.get("os") != "linux" or machine != _machine():
        raise InfrastructureError(
            f"the image in {origin} is for {image.configuration.get('os')}/{machine}, but this machine is "
            f"linux/{_machine()}; use an image for this platform"
        )
    return image


def _machine() -> str:
    machine = platform.machine()
    return _MACHINES.get(machine, machine)


def _blob(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    if algorithm != "sha256" or not value.isalnum():
        raise ValueError(f"{digest!r:.80} is not a digest")
    return f"blobs/sha256/{value}"


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError("its JSON does not follow the specification")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise ValueError("its JSON does not follow the specification")
    return value


def _strings(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
