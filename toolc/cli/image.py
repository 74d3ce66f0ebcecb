"""``toolc image``: build and list the images that tools run in."""

from __future__ import annotations

import click


@click.group("image")
def command() -> None:
    """Build and list the images that tools run in."""


@command.command("build")
@click.argument("name", default="base")
@click.option("--from", "base", metavar="IMAGE", help="The image to start from; by default a public Debian.")
def build(name: str, base: str | None) -> None:
    """Build an image: NAME, or base, that of tools which name none.

    Starts from a public base where a registry answers, else from a minimal Debian made on this host (as
    root, with mmdebstrap). Does nothing where the image is up to date.
    """
    from toolc.engines.images import build_image

    built = build_image(name, base=base, say=_say)
    click.echo(built.tag)


@command.command("list")
def list_() -> None:
    """List the images on this host: tag, size and origin."""
    from toolc.engines.images import list_images

    images = list_images()
    for image in images:
        click.echo(f"{image.tag}  {image.size_bytes / 1024**2:.0f}MiB  from {image.base}")
    if not images:
        _say("there are no images yet; build one with: toolc image build")


def _say(line: str) -> None:
    click.echo(line, err=True)
