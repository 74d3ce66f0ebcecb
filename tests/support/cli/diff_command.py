from cli.command_line import Result, toolc


def diff(*arguments: str) -> Result:
    return toolc("diff", *arguments)
