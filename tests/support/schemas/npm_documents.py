"""OpenAPI documents that npm packages ship. They are installed into the cache folder once."""

import os
import subprocess
from pathlib import Path

EXAMPLES, GITHUB = "@readme/oas-examples@8.2.2", "@octokit/openapi@23.0.2"


def npm_documents() -> Path:
    """Return the folder with the packages."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "toolc-test" / "openapi-documents-1"
    if not folder.exists():
        new = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = ["npm", "install", "--prefix", str(new), "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, EXAMPLES, GITHUB], check=True, capture_output=True, timeout=250)
        for path in (new / "node_modules/@octokit/openapi/generated").iterdir():
            if path.name != "api.github.com.json":  # 370 MB of other versions
                path.unlink()
        new.rename(folder)
    return folder / "node_modules"


def github_document(packages: Path) -> Path:
    """Return the document of GitHub, with more than 1,000 operations."""
    return packages / "@octokit/openapi/generated/api.github.com.json"
