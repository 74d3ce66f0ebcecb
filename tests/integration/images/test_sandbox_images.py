"""toolc's own images: each is built and has its programs."""

from pathlib import Path

import pytest
from engines.image_cases import usable

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.sandbox.docker import base_image, image_builder

HOLDS = {
    "python": "python3 -m pip --version; python3 -c 'import requests, yaml, venv'",
    "node": "node --eval 'console.log(1 + 1)'; python3 --version",
    "shell-tools": "echo '{\"a\": 1}' | jq .a; rg --version; git --version; curl --version",
}


def test_every_image_is_tested() -> None:
    assert set(image_builder.image_names()) == {*HOLDS, image_builder.BASE}


@pytest.mark.integrations
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "engine"), [("python", "docker"), ("node", "docker"), ("shell-tools", "docker"), ("shell-tools", "oci")]
)
def test_an_image_has_its_programs(name: str, engine: str, tmp_path: Path) -> None:
    usable("docker")
    usable(engine)
    tag = image_builder.build_image(name, base=base_image.build_base(None, print), on_progress=lambda _line: None).tag
    spec = tmp_path / "tool.yaml"
    spec.write_text(
        "toolc: 1\nname: tool\ndescription: Show that what an image is for is in it.\n"
        "backend:\n  shell:\n    script: |\n      find / -xdev -perm /6000 ! -type d 2>/dev/null || true\n      "
        + HOLDS[name]
        + "\n"
        f"sandbox: {{image: '{tag}'}}\n",
        encoding="utf-8",
    )
    with Executor(Registry.load(spec), engine=engine) as executor:
        result = executor.run("tool", {})
    assert not result.is_error, result.text
    assert result.text[:1] not in {"", "/"}, "nothing in it may lend another's rights"
