"""What ``toolc run`` prints of a result."""

import pytest

from toolc.cli.output.result import print_content, print_details
from toolc.model.result import Text, ToolResult


def test_what_a_function_printed_is_shown_once(capfd: pytest.CaptureFixture[str]) -> None:
    returned = ToolResult(content=(Text("3"),), details={"stdout": "counting\n"})
    nothing = ToolResult(content=(Text("counting\n"),), details={"stdout": "counting\n", "returned_nothing": True})
    for result, expected in ((returned, ("3\n", "counting\n")), (nothing, ("counting\n", ""))):
        print_content(result, "", "")
        print_details(result, "")
        assert tuple(capfd.readouterr()) == expected
