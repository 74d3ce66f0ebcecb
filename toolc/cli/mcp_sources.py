"""Find MCP servers for ``toolc import mcp`` on PyPI, on npm, or in the configuration of a client."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from gzip import GzipFile
from importlib.metadata import Distribution, distributions
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from toolc.cli.common import note
from toolc.document.config_entries import plain_json
from toolc.document.loader import load_data
from toolc.document.nodes import to_json
from toolc.importers.mcp_spec import McpSource
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, map_under
from toolc.sandbox.images.stored import base_tag
from toolc.sandbox.python.packages import require_pip

_SECONDS: Final = 600.0

_WORDS: Final = re.compile(r"(?:^|[-_/])(?:mcp|server|modelcontextprotocol)(?=[-_/]|$)")
"""Matches the parts of a package's name that say only that it is an MCP server."""

_PACKAGE: Final = re.compile(r"(?:@[\w.-]+/)?\w[\w.-]*(?:\[[\w,. -]*\])?(?:(?:==|@)[\w.+!^~-]+)?")
"""Matches a package of PyPI or npm. From a path or another URL, pip would run the code of the package on this host."""

_SECRET: Final = re.compile(r"\{\{\s*secrets\.(\w+)")

_FOLDER: Final = "/opt/server"
"""Where the image has the packages of npm."""

_DOCKERFILE: Final = """\
# The MCP server {package} and the packages that it needs, as package-lock.json lists them with their hashes. They were
# installed without running any of their scripts. The base image is that of: toolc image build node
FROM {base}
"""

_NODE: Final = 18
"""The major version of Node.js in Debian 12, from which the image ``node`` is made."""

_ARCHIVE_BYTES: Final = 3 * 1024 * 1024
"""The size after which another archive begins. A file of a spec has at most 4 MiB, and most files are small."""

_NOT_RUN: Final = (".map", "readme.md", "changelog.md", ".d.ts", ".d.cts", ".d.mts", ".package-lock.json")
"""The ends of the names of files that Node.js does not need. Some servers read other Markdown when they start."""


def name_of(package: str) -> str:
    """Return a short name for the server of a package: ``time`` for ``mcp-server-time``."""
    short = _WORDS.sub("", package.lstrip("@").lower())
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-") or "server"


def with_pip(source: McpSource, package: str) -> McpSource:
    """Return the source for ``PACKAGE==VERSION`` or the newest version of a package of PyPI.

    Raises ``UsageError``, and ``InfrastructureError`` if this Python has no pip.
    """
    require_pip()
    name = package.partition("==")[0]
    options = ["--no-deps", "--only-binary", ":all:", "--quiet", "--disable-pip-version-check"]
    with TemporaryDirectory() as temporary:
        _install([sys.executable, "-m", "pip", "download", *options, package], Path(temporary))
        # The import system reads a wheel as it reads any other archive on its path.
        distribution = next(iter(distributions(path=[*map(str, Path(temporary).glob("*.whl"))])))
        start = _python_start(distribution, re.sub(r"\[.*", "", name))
        version = distribution.version
    return replace(
        source, requirements=(f"{name}=={version}", *source.requirements), command=("python3", *start, *source.command)
    )


def _python_start(distribution: Distribution, package: str) -> tuple[str, str]:
    """Return the options of Python that start a package: as the module of its name, or else by its script.

    The script itself is not called, because its first line names the Python of the machine that installed it.
    """
    module = re.sub(r"[-.]+", "_", package)
    scripts = {each.name: each for each in distribution.entry_points.select(group="console_scripts")}
    if not scripts or f"{module}/__main__.py" in map(str, distribution.files or ()):
        return "-m", module
    script = scripts.get(package) or next(iter(scripts.values()))
    return "-c", f"import sys, {script.module}; sys.exit({script.module}.{script.attr}())"


def with_npm(source: McpSource, package: str, folder: Path) -> McpSource:
    """Install ``PACKAGE@VERSION`` into the folder of an image next to the spec, without running its scripts.

    Raises ``UsageError``.
    """
    name = re.sub(r"(?<=.)@.*", "", package)
    image = f"{source.name}-image"
    with TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "package.json").write_text('{"name": "server", "private": true}', encoding="utf-8")
        _install(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", package], place)
        about = json.loads((place / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
        command = _program(about, name)
        _note_newer_node(about, name)
        target = folder / image
        target.mkdir(parents=True, exist_ok=True)
        for each in ("package.json", "package-lock.json"):
            (target / each).write_bytes((place / each).read_bytes())
        lines = [_DOCKERFILE.format(package=package, base=base_tag().replace("/base", "/node"))]
        for number, data in enumerate(_archives(place), 1):
            (target / f"packages-{number}.tgz").write_bytes(data)
            lines.append(f"ADD packages-{number}.tgz {_FOLDER}/\n")
        (target / "Dockerfile").write_text("".join(lines), encoding="utf-8")
    return replace(source, command=("node", command, *source.command), sandbox={"build": image, **source.sandbox})


def with_url(source: McpSource, url: str, headers: JsonObject, auth: str) -> McpSource:
    """Return the source for a server at a URL. Secrets in ``headers`` and ``auth`` (YAML) are declared for its host.

    Raises ``UsageError``.
    """
    if source.command or set(source.sandbox) - {"lifetime"}:
        raise UsageError("a server at a URL has no sandbox, so --url takes only --header and --auth")
    document = load_data(auth.encode(), Path(), "--auth", Diagnostics()) if auth else None
    if auth and not document:
        raise UsageError(f"--auth must be a map in YAML, such as bearer: '{{{{ secrets.TOKEN }}}}', not {auth!r:.80}")
    written = map_under({"auth": to_json(document.root)}, "auth") if document else {}
    receivers = [(headers, url), (written, str(map_under(written, "oauth2").get("token_url") or url))]
    secrets: JsonObject = {
        name: {"hosts": [_host(to)]} for part, to in receivers for name in _SECRET.findall(json.dumps(part))
    }
    own: JsonObject = {"secrets": secrets} if secrets else {}
    return replace(source, url=url, headers=headers, auth=written, sandbox=own | source.sandbox)


def name_of_host(url: str) -> str:
    """Return a short name for the server at a URL: ``example`` for ``https://mcp.example.com/mcp``."""
    host = _host(url)
    labels = [each for each in host.split(".") if each not in {"mcp", "api", "www"}]
    return "server" if ":" in host or host[-1:].isdigit() else name_of("-".join(labels[:-1] or labels))


def secret_headers(name: str, entry: JsonObject) -> JsonObject:
    """Return the headers in the entry of a client. Their values stay out of the spec, because most are keys."""
    names = {each: re.sub(r"[^A-Z0-9]+", "_", f"{name}_{each}".upper()) for each in map_under(entry, "headers")}
    return {each: f"{{{{ secrets.{secret} }}}}" for each, secret in names.items()}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def servers_in(text: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the name and the entry of each server in the configuration of a client. Raises ``UsageError``."""
    try:
        value = json.loads(plain_json(text))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON: {error}") from None
    entries = map_under(value, "mcpServers") or map_under(value, "servers") if isinstance(value, dict) else {}
    if not entries:
        raise UsageError("it has no MCP servers under 'mcpServers' or 'servers'")
    for name, entry in entries.items():
        if isinstance(entry, dict):
            yield name, entry


def package_of(entry: JsonObject) -> tuple[str, str, list[str]]:
    """Return ``npm`` or ``pip``, the package and the arguments of a server. Raises ``UsageError`` if it has none."""
    if entry.get("type") == "sse":
        raise UsageError("it speaks HTTP+SSE of 2024, which is not supported; ask its authors for streamable HTTP")
    if not isinstance(entry.get("command"), str):
        raise UsageError("it has neither a command nor a URL")
    program, listed = Path(str(entry["command"])).name, entry.get("args")
    words = [str(each) for each in listed] if isinstance(listed, list) else []
    kinds = {"npx": "npm", "uvx": "pip"}
    if program not in kinds:
        raise UsageError(f"it runs {program}; import it with --image or --build, and pass its command after --")
    while words and words[0].startswith("-"):
        if words[0] not in {"-y", "--yes", "-q", "--quiet"}:
            raise UsageError(f"the option {words[0]} of {program} is not supported; import it with --{kinds[program]}")
        words.pop(0)
    if not words:
        raise UsageError(f"it runs {program} without a package")
    package = words[0].removesuffix("@latest")
    return kinds[program], package.replace("@", "==") if program == "uvx" else package, words[1:]


def _program(about: JsonObject, name: str) -> str:
    """Return the path in the image of the program that a package of npm installs."""
    programs = about.get("bin")
    paths = [programs] if isinstance(programs, str) else [*programs.values()] if isinstance(programs, dict) else []
    if not paths:
        raise UsageError(f"{name} has no program; use --build, and pass its command after --")
    return f"{_FOLDER}/node_modules/{name}/{str(paths[0]).removeprefix('./')}"


def _note_newer_node(about: JsonObject, name: str) -> None:
    """Say that a package of npm is made for a newer Node.js than the image has: its server may only print a trace."""
    ranges = str(map_under(about, "engines").get("node", "")).split("||")
    oldest = [int(found[1]) if (found := re.match(r"[\s>=^~v]*(\d+)", each)) else 0 for each in ranges]
    if min(oldest) > _NODE:
        note(
            f"{name} is made for Node.js {min(oldest)} or newer, but the image 'node' has Node.js {_NODE}; if it does "
            "not start, use --build with an image of your own, and pass its command after --"
        )


def _archives(place: Path) -> Iterator[bytes]:
    """Yield the packages as archives that fit into a spec. The same packages give the same archives."""
    files = [each for each in sorted((place / "node_modules").rglob("*")) if not each.name.lower().endswith(_NOT_RUN)]
    while files:
        data = BytesIO()
        with GzipFile(fileobj=data, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            while files and data.tell() < _ARCHIVE_BYTES:
                each = files.pop(0)
                archive.add(each, str(each.relative_to(place)), recursive=False, filter=_plain)
        yield data.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def _install(argv: Sequence[str], folder: Path) -> None:
    """Run pip or npm, whose last argument is the package."""
    if not _PACKAGE.fullmatch(argv[-1]):
        raise UsageError(f"{argv[-1]!r:.80} is not a package of PyPI or npm, such as mcp-server-time==2025.9.25")
    try:
        done = subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise UsageError(f"this needs {argv[0]}, which is not installed on this machine") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{argv[-1]} could not be installed within {_SECONDS:g} seconds") from None
    if done.returncode != 0:
        errors = (line for line in done.stderr.splitlines() if "error" in line.lower())
        reason = next(errors, done.stderr.strip()[-200:])
        raise UsageError(f"{argv[-1]} could not be installed: {reason[:300]}")
