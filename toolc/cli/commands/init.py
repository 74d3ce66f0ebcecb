"""``toolc init``: create a small folder of specs, or add a tool to one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.first_tool import KINDS, first_tool, import_arguments
from toolc.cli.tool_templates import TOOLS
from toolc.model.errors import UsageError

if TYPE_CHECKING:
    from toolc.cli.code_owners import CodeOwners

_SCHEMA: Final = ".toolc-schema.json"

_MODELINE: Final = f"# yaml-language-server: $schema=../{_SCHEMA}\n"

_COUNT_CODE: Final = '''\
"""Count what is in a text file. Runs in the sandbox; the workspace is the current directory."""

from pathlib import Path


def count_lines(path: str) -> dict[str, int]:
    text = Path(path).read_text(encoding="utf-8")
    return {"lines": len(text.splitlines()), "words": len(text.split())}
'''


def _template(name: str) -> str:
    from importlib.resources import files as data_files  # start-up time

    return (data_files("toolc.data") / "init" / name).read_text(encoding="utf-8")


def ci_files(host: str) -> dict[str, str]:
    """Return the files that ``--ci`` adds for ``github`` or ``gitlab``, by path. Raises ``UsageError``."""
    from toolc.data.paths import packaged_path  # start-up time

    templates = packaged_path("docs/guides/ci")
    if host == "gitlab":
        return {
            ".gitlab-ci.yml": _text(templates / "gitlab.yml"),
            ".pre-commit-config.yaml": _template("pre-commit.yaml"),
        }
    return {
        ".github/workflows/tools.yml": _text(templates / "github.yml"),
        ".github/actions/toolc/action.yml": _text(packaged_path(".github/actions/toolc") / "action.yml"),
        ".pre-commit-config.yaml": _template("pre-commit.yaml"),
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def files(kind: str = "python") -> dict[str, str]:
    """Return the files to create, by path, if the first tool calls this ``kind`` of thing."""
    from toolc.compiler.editor_schema import as_text, spec_schema  # start-up time

    examples = {"hello": "hello.yaml"}
    examples |= {"python": {"count_lines": "count_lines.yaml"}, "http": {"get_item": "get_item.yaml"}}.get(kind, {})
    return {
        **{f"specs/{name}.yaml": _MODELINE + _template(file) for name, file in examples.items()},
        **({"specs/count_lines.py": _COUNT_CODE} if kind == "python" else {}),
        "toolc.yaml": _template("toolc.yaml"),
        "README.md": _template("README.md"),
        ".gitignore": "build/\n",
        _SCHEMA: as_text(spec_schema()),
    }


@click.command("init")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option(
    "--tool",
    type=click.Choice(TOOLS),
    help="Instead of the examples, add a tool for your own server to DIR (default: the current folder).",
)
@click.option(
    "--call", "kind", type=click.Choice([*KINDS]), help="What the first tool calls.  [default: ask, or python]"
)
@click.option("--from", "source", metavar="FILE", help="What to import, for --call openapi and --call definition.")
@click.option("--ci", "host", type=click.Choice(["github", "gitlab"]), help="Add configuration files for this CI.")
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="NAME",
    help="An owner of the settings in CODEOWNERS, such as @USER or @ORGANIZATION/TEAM. May be repeated.",
)
def command(
    directory: str | None,
    *,
    tool: str | None,
    kind: str | None,
    source: str | None,
    host: str | None,
    owners: tuple[str, ...],
) -> None:
    """Create a small folder of specs that builds and runs, or add a tool to a folder. Existing files are not changed.

    On a terminal, you are asked what the first tool calls. The examples pass toolc test.

    The project file lets a pull request accept its own changes. This is safe only if the files that control reviews
    have owners. Lines for these files are written to CODEOWNERS, or printed if that file exists or belongs outside DIR.
    """
    if tool is not None:
        if host or owners or kind or source:
            raise UsageError("--tool adds one tool and cannot be combined with --ci, --owner, --call or --from")
        _add_tool(directory or ".", tool)
        return
    if directory is None:
        raise UsageError("DIR is missing; name the folder to create, or add a tool to this folder with --tool NAME")
    from toolc.cli.code_owners import code_owners, owner, repository_top  # start-up time

    folder = Path(directory)
    rules = code_owners(folder, host, [owner(each) for each in owners])
    first = first_tool(kind, source)
    texts = files(first.kind) | (ci_files(host) if host else {})
    if rules.text is not None:
        texts |= {rules.path: rules.text}
    _refuse_existing(directory, texts)
    if arguments := import_arguments(first, folder):
        from toolc.cli.commands.import_ import command as import_command  # start-up time

        import_command.main(arguments, standalone_mode=False)  # first: without its source, nothing is created
    _create(directory, texts)
    change = f"cd {shlex.quote(directory)} && " if directory != "." else ""
    print(f"try: {change}toolc run specs/hello.yaml --arg name=Ada")
    if host:
        inside = folder.resolve().relative_to(top := repository_top(folder)).as_posix()
        if inside == ".":
            print("then, before the first review: toolc lock specs")
        else:
            _explain_ci(host, top, inside)
    _explain(rules, has_owner=bool(owners))


def _add_tool(directory: str, name: str) -> None:
    """Write the files of a template, and print what the user must still do."""
    from toolc.cli.common import nearest
    from toolc.cli.tool_templates import missing_variables, tool_template  # start-up time
    from toolc.compiler.project.files import PROJECT_FILES

    folder = Path(directory)
    template = tool_template(name, _MODELINE if (folder / _SCHEMA).exists() else "")
    project = nearest(PROJECT_FILES, folder)
    texts = dict(template.files) | ({"toolc.yaml": template.project_text()} if project is None else {})
    _create(directory, texts)
    if project is None:
        print("then set the variables under vars in toolc.yaml")
    elif missing := missing_variables(template, project):
        print(f"under vars in {project}, add and set:", *(line.rstrip() for line in missing), sep="\n")
    for secret in template.secrets:
        print(f"write the secret to a file that only you can read (chmod 600), as the line '{secret}: VALUE'")
    secrets = " --secrets FILE" if template.secrets else ""
    print("then try these commands; the last ones need a server:")
    if directory != ".":
        print(f"  cd {shlex.quote(directory)}")
    print(f"  toolc check specs/{name}.yaml")
    print(f"  toolc test specs/{name}.yaml{secrets}")
    for call in template.calls:
        print(f"  toolc run {call}{secrets if call.startswith('specs/') else ''}")


def _create(directory: str, texts: Mapping[str, str]) -> None:
    """Write all the files, or none of them if one already exists, and print their paths."""
    folder = Path(directory)
    _refuse_existing(directory, texts)
    written: list[Path] = []
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # Exclusive creation: a file that appeared since the check is not overwritten.
            with target.open("x", encoding="utf-8", newline="\n") as file:
                written.append(target)
                file.write(text)
    except OSError as error:
        # A partial result would block the next attempt.
        for target in written:
            target.unlink(missing_ok=True)
        raise UsageError(f"{error.filename or directory} cannot be written: {error.strerror}") from None
    print(f"created {', '.join(texts)} in {directory}")


def _refuse_existing(directory: str, texts: Mapping[str, str]) -> None:
    there = [path for path in texts if Path(directory, path).exists() or Path(directory, path).is_symlink()]
    if there:
        raise UsageError(f"{directory} already has {', '.join(there)}; choose another folder, or move these files")


def _explain_ci(host: str, top: Path, inside: str) -> None:
    """Print what to change in the files for CI if the new folder is ``inside`` of a repository."""
    files = {
        "github": (".github", f"in the workflow, pass 'specs: {inside}/specs' to the action"),
        "gitlab": (".gitlab-ci.yml", f"in .gitlab-ci.yml, set SPECS to {inside}/specs"),
    }
    name, change = files[host]
    print(f"then, in {top}, where CI reads its files:")
    # Existing files are not changed.
    print(f"  cp -rn {shlex.quote(f'{inside}/{name}')} {shlex.quote(f'{inside}/.pre-commit-config.yaml')} .")
    print(f"  {change}; in .pre-commit-config.yaml, replace specs with {inside}/specs")
    print(f"  before the first review: toolc lock {shlex.quote(f'{inside}/specs')}")


def _explain(rules: CodeOwners, *, has_owner: bool) -> None:
    """Print which lines ``CODEOWNERS`` lacks, why they are needed, and what the user must still do."""
    if rules.missing:
        # A relative path means that the file exists in the new folder.
        is_new = Path(rules.path).is_absolute() and not Path(rules.path).exists()
        what = f"create {rules.path} with:" if is_new else f"at the end of {rules.path}, add:"
        print(what, *(f"  {line}" for line in rules.missing), sep="\n")
    print(
        "review.accept_from in toolc.yaml lets a pull request accept its own changes; configure the code host to "
        f"require a review by the owners in {rules.path}" + ("" if has_owner else ", and replace @OWNER there")
    )
