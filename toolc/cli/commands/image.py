"""``toolc image``: build, list, unpack and remove the images that tools run in."""

from __future__ import annotations

from pathlib import Path

import click

from toolc.cli.common import note
from toolc.cli.main import CommandGroup
from toolc.model.errors import NoEngineError


@click.group("image", cls=CommandGroup)
def command() -> None:
    """Build, list, unpack and remove the images that tools run in."""


@command.command("build", short_help="Build images, or bring them up to date.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--from", "base", metavar="IMAGE", help="The image to start from, instead of the usual one.")
def build(names: tuple[str, ...], base: str | None) -> None:
    """Build images: each NAME, or base, that of tools which name none.

    base starts from a public Debian where a registry answers, else from a minimal one made on this host (as
    root, with mmdebstrap); the others start from base. Does nothing where an image is up to date.
    """
    from toolc.sandbox.docker.image_builder import build_image, recipe

    wanted = names or ("base",)
    for name in wanted:
        recipe(name)  # every name is right before the first is built
    for name in wanted:
        click.echo(build_image(name, base=base, on_progress=_say).tag)


@command.command("list", short_help="List the images on this host.")
def list_() -> None:
    """List the images on this host: tag, size, and origin or the folder where it is unpacked."""
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
        stale = "; no name means it any more: toolc image prune" if each.is_stale else ""
        click.echo(f"{name}  {_mebibytes(each.size_bytes())}  unpacked in {each.folder}{stale}")
    if not built and not unpacked:
        note("there are no images yet; build one with: toolc image build")


@command.command("prune", short_help="Remove what is unpacked and no longer used.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def prune(dry_run: bool) -> None:
    """Remove unpacked images that no name means any more, and packages that no call has used for a month.

    What a call runs in is kept. The images of a daemon are its own affair.
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
        note("nothing is to be removed")


@command.command("export", short_help="Unpack an image, to run tools in it without a daemon.")
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
    from toolc.sandbox.oci.images import export_image, save_image

    if archive is not None and output is not None:
        raise click.UsageError("--from unpacks an archive and --output writes one; give one of them")
    if output is not None:
        click.echo(f"{save_image(name, output)}  {output}")
        return
    image = export_image(name, archive)
    click.echo(f"{image.name}  {image.digest}  {image.root}")


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 1024**2:.0f}MiB"


def _say(line: str) -> None:
    click.echo(line, err=True)
