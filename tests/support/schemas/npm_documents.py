"""OpenAPI documents that npm packages ship. They are installed into the cache folder once."""

import fcntl
import os
import subprocess
from pathlib import Path
from typing import Final

PACKAGES: Final = (
    "@readme/oas-examples@8.2.2", "@octokit/openapi@23.0.2", "@figma/rest-api-spec@0.43.0", "@netlify/open-api@2.60.0",
    "@scalar/galaxy@0.6.12",
)  # fmt: skip
_GITHUB: Final = "@octokit/openapi/generated/api.github.com.json"
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""The cache of the user, not that of one test run."""


def npm_documents() -> Path:
    """Return the folder with the packages. Of several processes that need them first, one installs them."""
    folder = _CACHE / "toolc-test" / "openapi-documents-2"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    new = folder.with_name(f"{folder.name}.{os.getpid()}")
    command = ["npm", "install", "--prefix", str(new), "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run([*command, *PACKAGES], check=True, capture_output=True, timeout=250)
    document = github_document(new / "node_modules")
    for path in document.parent.iterdir():
        if path != document:  # 370 MB of other versions
            path.unlink()
    new.rename(folder)


def github_document(packages: Path) -> Path:
    """Return the document of GitHub, with more than 1,000 operations."""
    return packages / _GITHUB
