"""The base image is obtained once, on first use, without a daemon too; if it cannot be, the message says what to do."""

import errno
import logging
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

import pytest
from engines.base_cases import fake_mmdebstrap, layer, starts, use

from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.sandbox.docker import base_image
from toolc.sandbox.docker.image_builder import Recipe, recipe
from toolc.sandbox.host import store
from toolc.sandbox.images import debian
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.images.stored import archive_of, base_note, base_tag, find_base
from toolc.sandbox.oci.images import import_image, save_image

LAYER = layer(etc__os="Debian", usr__bin__python3="python")

OBTAIN = """
import sys
from toolc.sandbox.docker.base_image import obtain_base
from toolc.sandbox.images.stored import base_tag
print(obtain_base(base_tag(), None).tree)
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = fake_mmdebstrap(tmp_path / "programs", LAYER)
    use(monkeypatch, folder, tmp_path / "store")
    monkeypatch.setattr(debian, "codename", lambda: "bookworm")
    return folder


def obtain() -> str:
    return base_image.obtain_base(base_tag(), None).tree


def left_in_scratch() -> list[Path]:
    return [*(store.directory() / "scratch").glob("*/*")]


def test_it_is_created_once(programs: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolc.images")
    assert find_base(base_tag()) is None
    tree = obtain()
    assert caplog.messages == [
        f"the base image {base_tag()} is not on this host; getting it now, which happens only once",
        "creating a minimal bookworm with mmdebstrap; this takes about a minute",
        "extracting archives...",
    ]
    assert obtain() == tree
    base = found()
    assert (base.tree, base.search_path) == (tree, debian.PATH)
    assert (base.root / "etc/os").read_text(encoding="utf-8") == "Debian"
    assert base_note(base_tag())["origin"] == "mmdebstrap bookworm"
    assert starts(programs) == 1
    assert left_in_scratch() == []


def test_processes_that_need_it_at_the_same_time_create_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = fake_mmdebstrap(tmp_path / "programs", LAYER, before="sleep 0.5")
    use(monkeypatch, programs, tmp_path / "store")
    argv = [sys.executable, "-c", OBTAIN]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    trees = {process.communicate(timeout=120)[0] for process in running}
    assert len(trees) == 1
    assert trees.pop().startswith("sha256:")
    assert starts(programs) == 1


def test_a_process_that_waits_says_for_which_one(programs: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(1) as other, store.locked("base", base_tag()):
        waiting = other.submit(obtain)
        message = f"waiting for the process {os.getpid()}, which is getting the base image {base_tag()}"
        deadline = monotonic() + 60
        while message not in caplog.messages and monotonic() < deadline:
            sleep(0.05)
    assert (caplog.messages[0], waiting.result().startswith("sha256:")) == (message, True)


def test_a_failure_is_reported_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = 'echo half > "$TMPDIR/half"; echo "E: no mirror" >&2; exit 1'
    use(monkeypatch, fake_mmdebstrap(tmp_path / "programs", LAYER, before), tmp_path / "store")
    with pytest.raises(InfrastructureError) as caught:
        obtain()
    text = str(caught.value)
    assert text.startswith(
        "the base image, in which tools without an image run, cannot be created: mmdebstrap failed: E: no mirror; "
    )
    assert text.endswith(
        "To get it from another machine, run toolc image export base --output base.tar there, and "
        "toolc image import base.tar here"
    )
    assert left_in_scratch() == []
    (tmp_path / "programs/mmdebstrap").unlink()
    fake_mmdebstrap(tmp_path / "other", LAYER)
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{os.environ['PATH']}")
    assert obtain().startswith("sha256:")


def test_without_mmdebstrap_the_message_names_its_package(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InfrastructureError, match=r"mmdebstrap is not installed \(sudo apt-get install mmdebstrap\)"):
        obtain()


def test_a_configured_image_without_a_daemon_must_be_imported(programs: Path) -> None:
    with pytest.raises(InfrastructureError) as caught:
        base_image.obtain_base("example.com/tools:1", None)
    assert str(caught.value) == (
        "the base image example.com/tools:1, which base_image in your configuration names, is not on this host; import "
        "it with toolc image import FILE example.com/tools:1, or start Docker, so that it is pulled"
    )
    obtain()
    import_image(archive_of(found()), "example.com/tools:1", "example.com/tools:1")
    assert base_image.obtain_base("example.com/tools:1", None).tree == obtain()


def found() -> Unpacked:
    image = find_base(base_tag())
    assert image is not None
    return image


def test_an_exported_base_has_the_same_digest_and_tree_on_another_machine(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = obtain()
    digest = found().digest
    assert save_image("base", tmp_path / "base.tar") == base_tag()
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "other"))
    image = import_image(tmp_path / "base.tar", "base", None)
    assert (image.name, image.digest, image.tree) == (base_tag(), digest, tree)
    assert obtain() == tree
    assert starts(programs) == 1


def test_an_export_to_a_full_disk_leaves_no_file(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, target: BinaryIO) -> None:
        target.write(b"a part")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    obtain()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", fail)
        with pytest.raises(UsageError, match="No space left on device"):
            save_image("base", tmp_path / "base.tar")
    # The next attempt does not find a file that it must not replace.
    assert save_image("base", tmp_path / "base.tar") == base_tag()


def test_an_import_replaces_the_base_until_another_one_is_imported(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = obtain()
    save_image("base", tmp_path / "first.tar")
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "other"))
    (programs / "layer.tar").write_bytes(layer(etc__os="another"))
    second = obtain()
    assert second != first
    import_image(tmp_path / "first.tar", "base", None)
    assert obtain() == first
    said: list[str] = []
    assert base_image.build_base(None, said.append) == base_tag()
    assert said == [f"{base_tag()} is up to date (from the archive first.tar)"]
    assert obtain() == first


def test_a_base_is_rebuilt_if_its_recipe_changes(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base_image.build_base(None, lambda _: None)
    base_image.build_base(None, lambda _: None)
    assert starts(programs) == 1
    newer = recipe("base")
    monkeypatch.setattr(base_image, "recipe", lambda _name: Recipe(name="base", folder=newer.folder, digest=""))
    base_image.build_base(None, lambda _: None)
    assert starts(programs) == 2


def test_from_needs_a_daemon(programs: Path) -> None:
    with pytest.raises(NoEngineError, match=r"^--from needs Docker"):
        base_image.build_base("debian:12", lambda _: None)


def test_a_missing_archive_is_reported(programs: Path) -> None:
    with pytest.raises(UsageError, match="toolc image export base --output FILE"):
        import_image(Path("none.tar"), "base", None)


def test_a_damaged_archive_is_refused(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    obtain()
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(archive_of(found()).read_bytes().replace(b"Debian", b"Ubuntu"))
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "other"))
    with pytest.raises(InfrastructureError, match="is damaged"):
        import_image(damaged, "base", None)
    assert find_base(base_tag()) is None
    assert left_in_scratch() == []


@pytest.mark.parametrize("part", ["root", "image.json"])
def test_a_base_with_a_missing_part_is_damaged_and_created_again_when_it_is_removed(
    programs: Path, tmp_path: Path, part: str
) -> None:
    tree = obtain()
    folder = found().root.parent
    (folder / part).rename(tmp_path / part)
    with pytest.raises(InfrastructureError, match=f"^{folder} is damaged .*; remove it, so that it is created again$"):
        obtain()
    shutil.rmtree(folder)
    assert obtain() == tree


def test_the_umask_does_not_matter(programs: Path) -> None:
    old = os.umask(0o077)
    try:
        obtain()
    finally:
        os.umask(old)
    folder = found().root.parent
    note = folder.parent.parent / "images" / f"{base_tag().replace('/', '%2F').replace(':', '%3A')}.json"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, found().root, folder / "image.json", note)}
    assert modes == {folder.name: 0o755, "root": 0o755, "image.json": 0o644, note.name: 0o644}


@pytest.fixture
def ordinary(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file with the ids of an ordinary user, who has newuidmap and no fakechroot."""
    (programs / "newuidmap").write_text("#!/bin/sh\n", encoding="utf-8")
    (programs / "newuidmap").chmod(0o755)
    ids = tmp_path / "subuid"
    monkeypatch.setattr(debian, "SUBORDINATE_IDS", (str(ids), str(ids)))
    monkeypatch.setattr(debian, "_is_root", lambda: False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)  # a user without a name
    monkeypatch.setenv("PATH", str(programs))
    return ids


@pytest.mark.parametrize("text", ["", "other:100000:65536\n"])
def test_an_ordinary_user_without_a_range_of_ids_sees_how_to_get_one(ordinary: Path, text: str) -> None:
    ordinary.write_text(text, encoding="utf-8")
    assert debian.obstacle() == (
        f"this user has no range of ids in {ordinary} and {ordinary} (sudo usermod --add-subuids 100000-165535 "
        "--add-subgids 100000-165535 4000000)"
    )


def test_an_ordinary_user_with_a_range_of_ids_can_create_a_base(ordinary: Path) -> None:
    ordinary.write_text("other:100000:65536\n4000000:200000:65536\n", encoding="utf-8")
    assert debian.obstacle() is None


def test_mmdebstrap_of_an_ordinary_user_unpacks_outside_of_the_home_directory(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home directory may be private, and mmdebstrap unpacks as another user."""
    script = (programs / "mmdebstrap").read_text(encoding="utf-8")
    first, _, rest = script.partition("\n")
    report = tmp_path / "report"
    lines = [first, f'echo "$TMPDIR $PWD $TOOLC_SCRATCH $(stat -c %a "$TMPDIR")" > {report}', rest]
    (programs / "mmdebstrap").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(debian, "_is_root", lambda: False)
    monkeypatch.setattr(debian, "obstacle", lambda: None)  # newuidmap and a range of ids are not needed here
    obtain()
    folder, here, scratch, mode = report.read_text(encoding="utf-8").split()
    assert (folder, mode) == (here, "755")
    assert Path(folder).parent == Path("/var/tmp")
    assert not Path(folder).exists()
    assert scratch.startswith(f"{store.directory()}/scratch/")
