"""The first steps of a new user: `make demo` in a fresh copy, and the wheel in an empty environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT


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
