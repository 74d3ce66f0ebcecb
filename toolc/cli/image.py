"""``toolc image``: build, list and unpack the images that tools run in."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("image")
def command() -> None:
    """Build, list and unpack the images that tools run in."""


@command.command("build")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--from", "base", metavar="IMAGE", help="The image to start from, instead of the usual one.")
def build(names: tuple[str, ...], base: str | None) -> None:
    """Build images: each NAME, or base, that of tools which name none.

    base starts from a public Debian where a registry answers, else from a minimal one made on this host (as
    root, with mmdebstrap); the others start from base. Does nothing where an image is up to date.
    """
    from toolc.engines.images import build_image, recipe

    wanted = names or ("base",)
    for name in wanted:
        recipe(name)  # every name is right before the first is built
    for name in wanted:
        click.echo(build_image(name, base=base, say=_say).tag)


@command.command("list")
def list_() -> None:
    """List the images on this host: tag, size and origin."""
    from toolc.engines.images import list_images

    images = list_images()
    for image in images:
        click.echo(f"{image.tag}  {image.size_bytes / 1024**2:.0f}MiB  from {image.base}")
    if not images:
        _say("there are no images yet; build one with: toolc image build")


@command.command("export")
@click.argument("name")
@click.option(
    "--from", "archive", metavar="FILE", type=click.Path(path_type=Path), help="An archive that holds the image."
)
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write an archive instead of unpacking."
)
def export(name: str, archive: Path | None, output: Path | None) -> None:
    """Unpack the image NAME, so that tools run in it where no daemon is.

    NAME is one of toolc's own images or any other. It comes from the daemon, or from FILE: what --output
    writes, or an image layout as other builders write it, as a tar file or a folder.
    """
    from toolc.engines.images import export_image, save_image

    if archive is not None and output is not None:
        raise click.UsageError("--from unpacks an archive and --output writes one; give one of them")
    if output is not None:
        click.echo(f"{save_image(name, output)}  {output}")
        return
    made = export_image(name, archive)
    click.echo(f"{made.tag}  {made.digest}  {made.root}")


def _say(line: str) -> None:
    click.echo(line, err=True)
