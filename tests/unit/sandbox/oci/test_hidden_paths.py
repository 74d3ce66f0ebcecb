"""A configuration names only places below a base; the layers and binds are what must be mounted there."""

from pathlib import Path

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.oci import hidden_paths
from toolc.sandbox.oci.hidden_paths import NOTHING, HiddenPaths, hide_paths, map_to_root


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    monkeypatch.setattr(hidden_paths, "BASES", (str(tmp_path / "missing"), str(folder)))
    return folder


def bind(source: Path | str, target: str) -> JsonObject:
    return {"destination": target, "type": "bind", "source": str(source), "options": ["rbind"]}


def configuration(root: Path, *mounts: JsonObject) -> JsonObject:
    return {"root": {"path": str(root), "readonly": True}, "mounts": [*mounts], "hostname": "sandbox"}


def test_the_root_and_folders_become_overlays_and_files_a_layer(tmp_path: Path, base: Path) -> None:
    root, packages, names, bundle = (tmp_path / each for each in ("root", "packages", "names", "bundle"))
    for folder in (root / "etc", packages, bundle):
        folder.mkdir(parents=True)
    (root / "etc").chmod(0o751)
    names.write_text("127.0.1.1 api.example.com\n", encoding="utf-8")
    usr, workspace = bind("/usr", "/usr"), bind(tmp_path / "ws", "/workspace")
    before = configuration(root, usr, bind(packages, "/opt/site"), bind(names, "/etc/hosts"), workspace)
    after, hidden = hide_paths(before, bundle, [])
    kept: JsonObject = {
        "root": {"path": f"{base}/root", "readonly": True},
        "mounts": [usr, bind(f"{base}/folder0", "/opt/site"), workspace],
    }
    assert after == before | kept
    files, empty = Path(hidden.overlays["root"][0]), Path(hidden.overlays["folder0"][0])
    overlays: dict[str, tuple[str, ...]] = {"root": (str(files), str(root)), "folder0": (str(empty), str(packages))}
    assert hidden == HiddenPaths(str(base), overlays=overlays)
    assert (files / "etc/hosts").read_text(encoding="utf-8") == "127.0.1.1 api.example.com\n"
    assert (files / "etc").stat().st_mode & 0o777 == 0o751
    assert not [*empty.iterdir()]
    assert hide_paths(before, bundle, []) == (after, hidden)


def test_the_overlay_of_a_workspace_names_no_folder_of_the_host(tmp_path: Path, base: Path) -> None:
    options = [
        "nosuid",
        "lowerdir=/run/toolc/1.2/workspace",
        r"upperdir=/var/a\,b/3/upper",
        r"workdir=/var/a\,b/3/work",
    ]
    mount: JsonObject = {"destination": "/workspace", "type": "overlay", "source": "overlay", "options": [*options]}
    after, hidden = hide_paths(configuration(tmp_path, mount), tmp_path, [])
    lower, scratch = base / "workspace", base / "scratch"
    shown = ["nosuid", f"lowerdir={lower}", f"upperdir={scratch}/upper", f"workdir={scratch}/work"]
    assert after["mounts"] == [{**mount, "options": shown}]
    assert (hidden.workspace, hidden.binds) == (lower, {"scratch": "/var/a,b/3"})


def test_nothing_is_hidden_if_every_base_is_in_use(tmp_path: Path, base: Path) -> None:
    before = configuration(tmp_path, bind(base / "ws", "/workspace"))
    assert hide_paths(before, tmp_path, []) == (before, NOTHING)
    before = configuration(tmp_path)
    assert hide_paths(before, tmp_path, [str(base / "state")]) == (before, NOTHING)
    assert hide_paths(before, tmp_path, [])[1] != NOTHING


def test_an_ordinary_users_overlay_keeps_the_bind_that_the_guest_compares(tmp_path: Path, base: Path) -> None:
    lower = bind("/home/ada/ws", "/dev/.workspace")
    options: list[JsonValue] = [f"lowerdir={tmp_path}/dev/.workspace", "upperdir=/state/1/upper"]
    mount: JsonObject = {"destination": "/workspace", "type": "overlay", "source": "overlay", "options": options}
    after, hidden = hide_paths(configuration(tmp_path, lower, mount), tmp_path, [])
    shown = [f"lowerdir={base}/root/dev/.workspace", f"upperdir={base}/scratch/upper"]
    assert after["mounts"] == [lower, {**mount, "options": shown}]
    assert hidden.workspace is None


def test_an_ordinary_user_mounts_the_same_with_programs(base: Path) -> None:
    hidden = HiddenPaths(str(base), overlays={"root": ("/a b", "/root dir")}, binds={"scratch": "/it's"})
    *enter, script, name = hidden.command_prefix()
    assert (enter[1:], name) == (
        ["--user", "--map-root-user", "--mount", "--propagation", "private", "--", "sh", "-ec"],
        "sh",
    )
    overlay = f"mount -t overlay -o ro,lowerdir={base}/root.0:{base}/root.1,redirect_dir=nofollow overlay"
    assert script.splitlines() == [
        f"mount -t tmpfs -o mode=755,size=64k tmpfs {base}",
        f"mkdir -m 755 {base}/workspace {base}/root {base}/scratch {base}/root.0 {base}/root.1",
        f"""mount --bind '/it'"'"'s' {base}/scratch""",
        f"mount --bind '/a b' {base}/root.0",
        f"mount --bind '/root dir' {base}/root.1",
        f"{overlay} {base}/root 2>/dev/null || mount --bind '/root dir' {base}/root",
        'exec "$@"',
    ]
    assert NOTHING.command_prefix() == []


def test_in_the_namespace_of_an_ordinary_user_this_user_is_root() -> None:
    mapping: JsonObject = {"containerID": 0, "hostID": 1234, "size": 1}
    before: JsonObject = {"linux": {"uidMappings": [mapping], "gidMappings": [mapping], "namespaces": []}}
    mapped: JsonObject = {**mapping, "hostID": 0}
    assert map_to_root(before) == {"linux": {"uidMappings": [mapped], "gidMappings": [mapped], "namespaces": []}}
