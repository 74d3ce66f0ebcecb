"""``toolc import python``: create specs from functions of a Python file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import note
from toolc.cli.import_changes import (
    LeftOutPart,
    apply_import,
    checked,
    conclude,
    import_options,
    name_choice,
    name_options,
    report_left_out,
    tool_names,
)
from toolc.cli.package_versions import PackageVersions, pinned, requirement_option
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.importers.python.modules import Modules


@click.command("python", short_help="Write specs for the functions of a Python file.")
@click.argument("source", metavar="FILE.py[:FUNCTION]|MODULE[.FUNCTION]")
@click.option("--path", "root", metavar="DIR", help="The folder of MODULE, and of the modules that the file imports.")
@click.option("--out", default="specs", show_default=True, metavar="DIR", help="The folder of the specs.")
@click.option("--name", metavar="NAME", help="The name of the import.  [default: the name of FILE or FUNCTION]")
@requirement_option
@name_options
@import_options
def import_python(
    source: str, *, root: str | None, out: str, name: str | None, given: tuple[str, ...], **options: object
) -> None:
    """Write one spec for each function that is a tool of LangChain, FastMCP, smolagents or OpenAI Agents.

    If a file has none, each public function becomes a tool. The file is read and never run. The code that the tools
    need is copied next to the specs, without the framework. A later import applies only the changes of the source and
    keeps your edits.
    """
    from toolc.importers.python.generate import generate
    from toolc.importers.record import Record, digest_of, read_record  # start-up time

    modules, path, function = _place(source, root)
    stem = name or function or Path(path).stem
    folder = Path(out)
    record = read_record(folder, stem, "python")
    versions = PackageVersions(modules.folder / path, given, record.options if record else {})
    choice = name_choice(options, record)
    generated = generate(modules, path, function, versions.of, tool_names(choice))
    if modules.folder.resolve() == folder.resolve():
        raise UsageError(f"the specs would be next to {path}, where they could replace code; pass another --out")
    left_out = [LeftOutPart(each.name, each.reason, each.place) for each in generated.left_out]
    for file, reason in checked(folder, generated.files).items():
        function_name, place = generated.places[file]
        left_out.append(LeftOutPart(function_name, reason, place))
    report_left_out(left_out)
    tools = sum(each.endswith(".yaml") for each in generated.files)
    if not tools:
        raise UsageError(f"no function of {path} can be imported")
    for each in generated.notes:
        note(each)
    new = Record(
        kind="python", source=f"{path}:{function}" if function else path,
        digest=digest_of(modules.module(path).text.encode()), files=generated.files,
        options=pinned(generated.versions) | choice,
    )  # fmt: skip
    found = apply_import(folder, stem, record, new, options)
    conclude(folder, "tool", tools, len(left_out), found)


def _place(source: str, root: str | None) -> tuple[Modules, str, str | None]:
    """Return the modules below a folder, the path of the file in it, and the function. Raises ``UsageError``."""
    from toolc.importers.python.modules import Modules  # start-up time

    name, _, function = source.rpartition(":") if ":" in source else (source, "", "")
    if name.endswith(".py"):
        file = Path(name)
        if root is None:  # the folder above all packages that contain the file
            top = file.parent
            while (top / "__init__.py").is_file() and top != top.parent:
                top = top.parent
        elif not file.resolve().is_relative_to(top := Path(root).resolve()):
            raise UsageError(f"{name} is not below {root}")
        else:
            file = file.resolve()
        return Modules(top), file.relative_to(top).as_posix(), function or None
    modules = Modules(Path(root or "."))
    start, _, last = name.rpartition(".")
    if (path := modules.path_of(name)) is not None:
        return modules, path, function or None
    if not function and (path := modules.path_of(start)) is not None:
        return modules, path, last
    raise UsageError(
        f"the folder {modules.folder} has no module {name}; pass its folder with --path, or a file as FILE.py"
    )
