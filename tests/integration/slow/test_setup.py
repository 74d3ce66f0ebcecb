"""Toolc is set up in a fresh copy, by its wheel in an empty environment, and with old packages; and it is released."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from project.paths import ROOT


def run(*command: str, cwd: Path, path: str | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment | ({"PATH": path} if path else {}),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the files that Git tracks or would track to a new folder."""
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tmp_path / "toolc" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "toolc" / name)
    return tmp_path / "toolc"


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.timeout(600)
def test_make_demo_sets_up_and_shows_two_tools(checkout: Path) -> None:
    printed = run("make", "demo", f"PYTHON={sys.executable}", cwd=checkout)
    assert "\n245\n" in printed
    assert "README.md\n" in printed
    assert (checkout / "build" / "registry.json").exists()


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.timeout(600)
def test_the_wheel_alone_makes_builds_and_runs_a_repo(checkout: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / "dist"), str(checkout), cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path)
    binaries = tmp_path / "venv" / "bin"
    run(str(binaries / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel), cwd=tmp_path)
    path = f"{binaries}:{os.environ['PATH']}"
    away = tmp_path / "elsewhere"
    away.mkdir()
    script = (
        "toolc init t --ci github >&2 && cd t && toolc build specs >&2 && toolc run specs/hello.yaml --arg name=Ada"
    )
    assert run("sh", "-c", script, cwd=away, path=path) == "Hello, Ada!\n"
    assert run("toolc", "explain", "RSK01", cwd=away, path=path).startswith("## RSK01: ")
    run("toolc", "check", str(next(binaries.parent.rglob("_assets/specs"))), cwd=away, path=path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_releases_are_the_same_bytes_and_name_all_packages(checkout: Path) -> None:
    first = run(".ci/release", sys.executable, cwd=checkout)
    for path in checkout.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert run("sh", "-c", f"umask 077; .ci/release {sys.executable}", cwd=checkout) == first
    (bill,) = (checkout / "dist").glob("*.cdx.json")
    components = {each["name"] for each in json.loads(bill.read_text(encoding="utf-8"))["components"]}
    required = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert {re.split("[^a-z0-9-]", each)[0] for each in required} <= components
    assert "hatchling" not in components


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_minimum_versions_of_packages_are_enough(tmp_path: Path) -> None:
    uv = [sys.executable, "-m", "uv", "--quiet"]
    python = str(tmp_path / "venv" / "bin" / "python")
    options = ["--extra=serve", "--extra=agent", "--group=packaging", "--group=pytest"]
    lowest = ["--resolution=lowest-direct", f"--python={sys.executable}", f"--output-file={tmp_path / 'lowest.txt'}"]
    run(*uv, "pip", "compile", "pyproject.toml", *lowest, *options, cwd=ROOT)
    run(*uv, "venv", "--seed", f"--python={sys.executable}", str(tmp_path / "venv"), cwd=ROOT)
    run(*uv, "pip", "install", f"--python={python}", "-r", str(tmp_path / "lowest.txt"), cwd=ROOT)
    run(*uv, "pip", "install", f"--python={python}", "--no-build-isolation", "--no-deps", "--editable", ".", cwd=ROOT)
    tests = [f"tests/unit/{each}" for each in ("cli", "compiler", "document", "serve", "validation")]
    options = ["-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider"]
    # Its validator is none of the packages whose minimum versions are tested.
    validated = "test_the_document_is_valid_and_has_all_operations"
    options += ["--deselect", f"tests/unit/serve/http/test_http_api.py::{validated}"]
    run(python, "-m", "pytest", *options, *tests, cwd=ROOT)
