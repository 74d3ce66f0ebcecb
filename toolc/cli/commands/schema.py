"""``toolc schema``: print the JSON Schema of specs, for editors."""

from __future__ import annotations

import click


@click.command("schema")
@click.option("--project", is_flag=True, help="Print the schema of the project file, toolc.yaml or toolc.toml.")
def command(project: bool) -> None:
    """Print the JSON Schema (2020-12) of spec files.

    Write it to a file in your repository, and refer to it in the first line of a spec. In YAML, for editors with
    yaml-language-server, the line is "# yaml-language-server: $schema=../.toolc-schema.json". In TOML, for taplo, it is
    "#:schema ../.toolc-schema.json".
    """
    from toolc.compiler.editor_schema import as_text, project_schema, spec_schema  # start-up time

    print(as_text(project_schema() if project else spec_schema()), end="")
