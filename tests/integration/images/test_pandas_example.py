"""The example with pinned packages on both engines: from the package index to an image."""

from pathlib import Path

import pytest
from engines.image_cases import usable
from project.paths import DOCS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.result import Image

EXAMPLE = DOCS / "guides" / "examples" / "pandas_chart.yaml"


@pytest.mark.integrations
@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["docker", "oci"])
def test_the_chart_of_the_examples_is_drawn(engine: str, tmp_path: Path) -> None:
    usable(engine)
    (tmp_path / "sales.csv").write_text("month,revenue\njan,3\nfeb,5\n", encoding="utf-8")
    with Executor(Registry.load(EXAMPLE), workspace=tmp_path, engine=engine) as executor:
        result = executor.run("plot_csv", {"path": "sales.csv", "x": "month", "y": "revenue", "kind": "bar"})
    assert not result.is_error, result
    assert [(type(block), block.mime_type) for block in result.content if isinstance(block, Image)] == [
        (Image, "image/png")
    ]
