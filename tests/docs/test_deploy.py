"""The files for deployments: valid, and with the same rights everywhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project.paths import ROOT

DEPLOY = ROOT / "docs/guides/deploy"
PAGE = (ROOT / "docs/guides/deploy.md").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    unit = tmp_path / "toolc.service"
    unit.write_text((DEPLOY / "toolc.service").read_text().replace("/opt/toolc/bin/toolc", shutil.which("true") or ""))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "toolc.service" in line]) == (0, [])


def test_the_manifest_is_valid() -> None:
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict", str(DEPLOY / "kubernetes.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_page_unit_and_manifest_have_the_same_capabilities() -> None:
    manifest = [*yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())]
    (deployment,) = (each for each in manifest if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    of_manifest = container["securityContext"]["capabilities"]["add"]
    (line,) = re.findall(r"^CapabilityBoundingSet=(.*)$", (DEPLOY / "toolc.service").read_text(), re.MULTILINE)
    of_unit = [each.removeprefix("CAP_") for each in line.split()]
    assert sorted(of_manifest) == sorted(of_unit) == sorted(re.findall(r"--cap-add (\w+)", PAGE))


def test_the_commands_of_the_files_have_options_that_exist() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "toolc", "serve", "--help"], capture_output=True, text=True, check=True
    )
    used = {*re.findall(r"--[a-z][a-z-]+", (DEPLOY / "toolc.service").read_text())}
    used |= {*re.findall(r"--[a-z][a-z-]+", (DEPLOY / "kubernetes.yaml").read_text())}
    assert {each for each in used - {"--log-format"} if each not in help_text.stdout} == set()
