"""``toolc image``: build, list, unpack and remove images for tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from toolc.cli.common import note
from toolc.cli.main import CommandGroup
from toolc.model.errors import NoEngineError


@click.group("image", cls=CommandGroup)
def command() -> None:
    """Build, list, unpack and remove images for tools."""


@command.command("build", short_help="Build or update images.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--from", "base", metavar="IMAGE", help="The base image, instead of the default.")
def build(names: tuple[str, ...], base: str | None) -> None:
    """Build or update the images with these NAMEs; without a NAME, "base", the default image of tools.

    "base" is built from the Debian image of a public registry or, if none is reachable, from a minimal Debian that
    mmdebstrap creates on this host (as root). Other images are built from "base". Images that are up to date are not
    built again.
    """
    from toolc.sandbox.docker.image_builder import build_image, recipe

    chosen = names or ("base",)
    for name in chosen:
        recipe(name)  # refuse unknown names before the first build
    for name in chosen:
        click.echo(build_image(name, base=base, on_progress=partial(click.echo, err=True)).tag)


@command.command("list", short_help="List the images on this host.")
def list_() -> None:
    """List the images on this host: tag, size, and the base image or the folder with the unpacked image."""
    from toolc.sandbox.docker.image_builder import list_images
    from toolc.sandbox.images.metadata import stored_images

    try:
        for image in (built := list_images()):
            click.echo(f"{image.tag}  {_mebibytes(image.size_bytes)}  from {image.base}")
    except NoEngineError as error:
        built = ()
        note(str(error))
    unpacked = stored_images()
    for each in unpacked:
        name = ", ".join(each.names) or each.digest
        stale = "; no longer used, remove it with: toolc image prune" if each.is_stale else ""
        click.echo(f"{name}  {_mebibytes(each.size_bytes())}  unpacked in {each.folder}{stale}")
    if not built and not unpacked:
        note("there are no images yet; build one with: toolc image build")


@command.command("prune", short_help="Remove unpacked images and packages that are no longer used.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, without removing it.")
def prune(dry_run: bool) -> None:
    """Remove unpacked images without a name, and packages that no call has used for a month.

    Images that a running call uses are kept. The images of a container daemon are not removed.
    """
    from toolc.sandbox.images.metadata import remove_image, stored_images
    from toolc.sandbox.python.packages import installed_packages, remove_packages

    removed = "would remove" if dry_run else "removed"
    stale = [image for image in stored_images() if image.is_stale]
    for image in stale:
        size = _mebibytes(image.size_bytes())
        if not dry_run:
            remove_image(image)
        click.echo(f"{removed}  {image.digest}  {size}")
    unused = [each for each in installed_packages() if each.is_unused]
    for each in unused:
        if not dry_run:
            remove_packages(each)
        click.echo(f"{removed}  packages  {', '.join(each.names)}")
    if not stale and not unused:
        note("nothing to remove")


@command.command("export", short_help="Unpack an image to run tools without a daemon.")
@click.argument("name")
@click.option("--from", "archive", metavar="FILE", type=click.Path(path_type=Path), help="An archive with the image.")
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write an archive instead of unpacking."
)
def export(name: str, archive: Path | None, output: Path | None) -> None:
    """Unpack the image NAME, so that tools can run in it without a container daemon.

    NAME is one of toolc's own images or any other. It is read from the daemon, or from FILE: an archive from
    --output, or an OCI image layout (tar file or folder).
    """
    from toolc.sandbox.oci.images import export_image, save_image

    if archive is not None and output is not None:
        raise click.UsageError("--from unpacks an archive and --output writes one; pass only one of them")
    if output is not None:
        click.echo(f"{save_image(name, output)}  {output}")
        return
    image = export_image(name, archive)
    click.echo(f"{image.name}  {image.digest}  {image.root}")


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 1024**2:.0f}MiB"
