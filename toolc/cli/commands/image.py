"""``toolc image``: build, list, import, export and remove images for tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from toolc.cli.common import note
from toolc.cli.main import CommandGroup
from toolc.model.errors import InfrastructureError, NoEngineError
from toolc.model.spec.sandbox import MIB
from toolc.model.text import render_size


@click.group("image", cls=CommandGroup)
def command() -> None:
    """Build, list, import, export and remove images for tools."""


@command.command("build", short_help="Build or update images.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--from", "base", metavar="IMAGE", help="The base image to use instead of the default.")
def build(names: tuple[str, ...], base: str | None) -> None:
    """Build or update the images with these NAMEs. The default is "base", the image of tools that name none.

    "base" is built from the Debian image of a public registry. If no registry is reachable or Docker does not respond,
    mmdebstrap creates a minimal Debian on this host instead. Other images are built from "base" with Docker. Images
    that are up to date are not built again.
    """
    from toolc.sandbox.docker.base_image import build_base
    from toolc.sandbox.docker.image_builder import build_image, recipe

    chosen = names or ("base",)
    on_progress = partial(click.echo, err=True)
    for name in chosen:
        recipe(name)  # refuse unknown names before the first build
    for name in chosen:
        if name == "base":
            click.echo(build_base(base, on_progress))
        else:
            click.echo(build_image(name, base=base or build_base(None, on_progress), on_progress=on_progress).tag)


@command.command("list", short_help="List the images on this host.")
def list_() -> None:
    """List the images on this host: the tag, the size, and the base image or the folder of the unpacked image."""
    from toolc.sandbox.docker.image_builder import list_images
    from toolc.sandbox.images.stored import stored_images

    try:
        for image in (built := list_images()):
            click.echo(f"{image.tag}  {_size(image.size_bytes)}  from {image.base}")
    except NoEngineError as error:
        built = ()
        note(str(error))
    unpacked = stored_images()
    for each in unpacked:
        name = ", ".join(each.names) or each.digest
        stale = "; no longer used, remove it with: toolc image prune" if each.is_stale else ""
        click.echo(f"{name}  {_size(each.size_bytes())}  unpacked in {each.folder}{stale}")
    if not built and not unpacked:
        note("there are no images yet; build one with: toolc image build")


@command.command("prune", short_help="Remove unpacked images and packages that are no longer used.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, without removing it.")
def prune(dry_run: bool) -> None:
    """Remove unpacked images without a name, base images of other releases of toolc, and unused packages.

    Packages are unused if no call has needed them for a month. Images that a running call uses are kept. Images in a
    container daemon are not removed.
    """
    from toolc.sandbox.images.stored import remove_image, stored_images
    from toolc.sandbox.python.packages import installed_packages, remove_packages

    removed = "would remove" if dry_run else "removed"
    stale = [image for image in stored_images() if image.is_stale]
    unused = [each for each in installed_packages() if each.is_unused]
    found = [(f"{each.digest}  {_size(each.size_bytes())}", partial(remove_image, each)) for each in stale]
    found += [(f"packages  {', '.join(each.names)}", partial(remove_packages, each)) for each in unused]
    kept = []
    for text, remove in found:
        try:
            if not dry_run:
                remove()
        except InfrastructureError as error:
            kept.append(f"{text} is kept: {error}")
        else:
            click.echo(f"{removed}  {text}")
    if kept:
        raise InfrastructureError("\n".join(kept))
    if not found:
        note("nothing to remove")


@command.command("export", short_help="Write an image to an archive, or unpack it.")
@click.argument("name")
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="The archive to write.")
def export(name: str, output: Path | None) -> None:
    """Write the image NAME to the archive FILE, for "toolc image import" on another host.

    NAME is one of toolc's own images or any other image in the container daemon. Without --output, the image is
    unpacked on this host, so that tools can use it when no container daemon is running.
    """
    from toolc.sandbox.oci.images import export_image, save_image

    if output is not None:
        click.echo(f"{save_image(name, output)}  {output}")
        return
    image = export_image(name)
    click.echo(f"{image.name}  {image.digest}  {image.root}")


@command.command("import", short_help="Import an image from an archive.")
@click.argument("archive", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("name", default="base")
def import_(archive: Path, name: str) -> None:
    """Import the image in FILE as NAME. The default is "base", the image of tools that name none.

    FILE is an archive from "toolc image export" or "docker save", or an OCI image layout (tar file or folder). Its
    content is verified against its digests. All engines use an imported base image, and the command prints the tree
    that "toolc lock --pin-base-image" pins. Other images are for tools that run without a container daemon.
    """
    from toolc.config.user_config import load_configuration
    from toolc.sandbox.oci.images import import_image

    image = import_image(archive, name, load_configuration().base_image)
    tree = f"  tree {image.tree}" if image.tree else ""
    click.echo(f"{image.name}  {image.digest}{tree}")


def _size(size_bytes: int) -> str:
    return render_size(round(size_bytes / MIB) * MIB)
