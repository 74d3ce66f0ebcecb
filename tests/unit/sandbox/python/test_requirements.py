"""Packages of a Python tool: the choice of wheels, and messages if there are none."""

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import store
from toolc.sandbox.python import packages
from toolc.sandbox.python.interpreter import PythonInfo

DEBIAN = PythonInfo(version=(3, 11), libc="glibc 2.36", machine="x86_64")
ALPINE = PythonInfo(version=(3, 12), libc="", machine="aarch64")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the only package index; set a separate store."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))
    return folder


def wheel(folder: Path, name: str, tag: str = "py3-none-any", needs: str = "") -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-{tag}.whl", "w") as file:
        file.writestr(f"{name}.py", "raise SystemExit('this must never run here')\n")
        more = f"Requires-Dist: {needs}\n" if needs else ""
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{more}")
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")


def modules(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.suffix in {".py", ".pyc"})


def test_wheels_are_chosen_for_the_sandboxs_python() -> None:
    assert packages.platforms(DEBIAN)[:2] == ["manylinux_2_36_x86_64", "manylinux_2_35_x86_64"]
    assert packages.platforms(DEBIAN)[-4:] == [
        "manylinux_2_5_x86_64", "manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64",
    ]  # fmt: skip
    assert packages.pip_options(ALPINE) == [
        "--python-version", "3.12", "--implementation", "cp", "--abi", "cp312", "--abi", "abi3", "--abi", "none",
        "--platform", "musllinux_1_2_aarch64", "--platform", "musllinux_1_1_aarch64",
    ]  # fmt: skip


@pytest.mark.slow
def test_packages_and_dependencies_are_installed_once(index: Path) -> None:
    wheel(index, "one", needs="two")
    wheel(index, "two")
    folder = packages.site(("one==1.0",), DEBIAN)
    assert modules(folder) == ["one.py", "two.py"]
    (index / "one-1.0-py3-none-any.whl").unlink()
    assert packages.site(("one==1.0",), DEBIAN) == folder


def hashed(index: Path, name: str) -> str:
    digest = hashlib.sha256((index / f"{name}-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    return f"{name}==1.0 --hash=sha256:{digest}"


@pytest.mark.slow
def test_hashes_must_be_complete(index: Path) -> None:
    wheel(index, "one", needs="two")
    wheel(index, "two")
    folder = packages.site((hashed(index, "one"), hashed(index, "two")), DEBIAN)
    assert modules(folder) == ["one.py", "two.py"]
    with pytest.raises(InfrastructureError) as caught:
        packages.site((hashed(index, "one"),), DEBIAN)
    assert str(caught.value).startswith(
        "pip could not install one==1.0 for Python 3.11 from wheels: "
        "it needs two, which must be listed with its hash, like all the other packages; "
    )


@pytest.mark.slow
def test_a_wheel_with_another_hash_is_refused(index: Path) -> None:
    wheel(index, "one")
    reviewed = hashed(index, "one")
    wheel(index, "one", needs="two")
    with pytest.raises(InfrastructureError) as caught:
        packages.site((reviewed,), DEBIAN)
    found = hashed(index, "one").partition("--hash=")[2]
    assert f"from wheels: the hash of one==1.0 is {found}, which is not one of the listed hashes; " in str(caught.value)


@pytest.mark.slow
def test_each_python_has_a_separate_folder(index: Path) -> None:
    wheel(index, "one", "cp311-cp311-manylinux_2_17_x86_64")
    wheel(index, "one", "cp312-cp312-musllinux_1_2_aarch64")
    assert packages.site(("one==1.0",), DEBIAN) != packages.site(("one==1.0",), ALPINE)


@pytest.mark.slow
def test_a_wheel_for_a_newer_glibc_is_refused(index: Path) -> None:
    wheel(index, "one", "cp311-cp311-manylinux_2_39_x86_64")
    with pytest.raises(InfrastructureError, match="from wheels: "):
        packages.site(("one==1.0",), DEBIAN)


@pytest.mark.slow
def test_a_package_without_wheels_is_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "one-1.0").mkdir()
    (tmp_path / "one-1.0/setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    with tarfile.open(index / "one-1.0.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "one-1.0", "one-1.0")
    with pytest.raises(InfrastructureError) as caught:
        packages.site(("one==1.0",), DEBIAN)
    assert str(caught.value) == (
        "pip could not install one==1.0 for Python 3.11 from wheels: "
        "Could not find a version that satisfies the requirement one==1.0 (from versions: none); "
        "check the versions in 'requirements', and whether this host can reach its package index"
    )
    assert not (tmp_path / "ran").exists()
    assert list((tmp_path / "store/scratch").iterdir()) == []


def _source(folder: Path, ran: Path) -> Path:
    """Return a source package whose build creates ``ran``."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n', encoding="utf-8"
    )
    (folder / "backend.py").write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_dependencies_by_address_are_not_built(index: Path, tmp_path: Path) -> None:
    """pip does not apply ``--only-binary`` to addresses."""
    wheel(index, "one", needs=f"two @ file://{_source(tmp_path / 'two', tmp_path / 'ran')}")
    with pytest.raises(
        InfrastructureError, match="must not start programs on this host, for example to build a source"
    ):
        packages.site(("one==1.0",), DEBIAN)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "strange",
    [
        "two @ file://{}", "-e {}", "{}", "--index-url=https://a.example one==1.0", "-r {}", "one==1.0\n-e {}",
        "one", "one==1.0 --hash=md5:" + "0" * 32, "one==1.0 --hash=sha256:" + "0" * 64 + " -e {}",
    ],
)  # fmt: skip
def test_other_requirements_are_refused(index: Path, tmp_path: Path, strange: str) -> None:
    """A registry may come from elsewhere than a compiled spec."""
    wheel(index, "one")
    line = strange.format(_source(tmp_path / "two", tmp_path / "ran"))
    with pytest.raises(InfrastructureError, match=r"does not require one version; write it as pandas==2\.2\.3"):
        packages.site((line,), DEBIAN)
    assert not (tmp_path / "ran").exists()


def test_a_missing_pip_names_the_remedy(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InfrastructureError, match=r"which this Python does not have; run: .* -m ensurepip$"):
        packages.site(("one==1.0",), DEBIAN)


def test_pip_has_a_timeout(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "SECONDS", 0.01)
    with pytest.raises(InfrastructureError, match="pip did not finish within"):
        packages.site(("one==1.0",), DEBIAN)
