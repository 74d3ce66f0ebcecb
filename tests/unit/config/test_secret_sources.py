"""Tests for the sources of secret values, and for the errors about missing and unsuitable values."""

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolc.config import secret_sources
from toolc.config.files import load_secrets
from toolc.config.secret_sources import CommandSource, EnvSource, FileSource, LiteralSource, SecretSource, SecretStore
from toolc.config.user_config import configuration_folder, load_configuration
from toolc.model.errors import UsageError

VALUE = "correct horse"


def reveal(source: SecretSource, environment: dict[str, str] | None = None) -> str:
    return SecretStore({"A": source}, environment or {}).reveal(["A"])["A"]


def problem(source: SecretSource, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        reveal(source, environment)
    return str(caught.value)


def test_a_value_comes_from_a_variable_a_file_or_a_command(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text(f"{VALUE}\n")
    file.chmod(0o600)
    assert reveal(EnvSource("X"), {"X": VALUE}) == VALUE
    assert reveal(FileSource(str(file))) == VALUE
    assert reveal(CommandSource((sys.executable, "-c", f"print({VALUE!r})"))) == VALUE
    assert reveal(LiteralSource(VALUE)) == VALUE


def test_a_secret_without_a_source_is_an_environment_variable() -> None:
    assert SecretStore({}, {"TOOLC_SECRET_A": VALUE}).reveal(["A"]) == {"A": VALUE}
    assert reveal(LiteralSource(VALUE), {"TOOLC_SECRET_A": "another one"}) == VALUE


def test_all_missing_secrets_are_reported_together() -> None:
    with pytest.raises(UsageError) as caught:
        SecretStore({}, {}).reveal(["B", "A"])
    assert str(caught.value) == (
        "the secret 'A' has no value; set the variable TOOLC_SECRET_A, or configure its source in "
        "~/.config/toolc/config.yaml: secrets: {A: {file: ~/.secrets/a}}\n"
        "the secret 'B' has no value; set the variable TOOLC_SECRET_B, or configure its source in "
        "~/.config/toolc/config.yaml: secrets: {B: {file: ~/.secrets/b}}"
    )


def test_tests_do_not_use_the_environment() -> None:
    store = SecretStore({}, {"TOOLC_SECRET_A": VALUE}, from_environment=False)
    with pytest.raises(UsageError) as caught:
        store.reveal(["A"])
    assert str(caught.value) == "the secret 'A' has no value; tests receive only the secrets in the file of --secrets"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is empty"),
        (" " * 10, "is empty"),
        (" 1234567\t\n", "has fewer than 8 characters, which is too few to redact it from output"),
        ("1234567", "has fewer than 8 characters, which is too few to redact it from output"),
        ("1234567\0", "contains a NUL character or invalid Unicode"),
        ("1234567\udc80", "contains a NUL character or invalid Unicode"),
        ("x" * 65537, "is longer than 64KiB"),
    ],
)
def test_unsuitable_values_are_rejected_and_not_shown(value: str, reason: str) -> None:
    assert problem(LiteralSource(value)) == f"the value of the secret 'A' {reason}; use another value"


def test_errors_of_sources_are_reported(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff" * 20)
    (tmp_path / "binary").chmod(0o400)
    program = (sys.executable, "-c", "import sys; print('hidden value'); sys.exit(3)")
    assert problem(EnvSource("X")) == "the secret 'A' is configured as the variable X, which is not set; set it"
    assert (
        problem(FileSource(f"{tmp_path}/no")) == f"the secret 'A': cannot read {tmp_path}/no: No such file or directory"
    )
    assert problem(FileSource(str(tmp_path))) == f"the secret 'A': cannot read {tmp_path}: Is a directory"
    assert problem(FileSource(f"{tmp_path}/binary")) == (
        f"the secret 'A': the file {tmp_path}/binary is not UTF-8 text; store its Base64 instead"
    )
    assert problem(CommandSource(("/no/such/program",))) == (
        "the secret 'A': cannot run '/no/such/program': No such file or directory"
    )
    failed = problem(CommandSource(program))
    assert failed.startswith(f"the secret 'A': {sys.executable!r} ended with status 3; run it yourself to see why: ")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_file_that_others_can_access_is_rejected(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "a"
    file.write_text(VALUE)
    file.chmod(mode)
    assert problem(FileSource(str(file))) == (
        f"the secret 'A': other users can access the file {file} (mode {mode:04o}); make it private: chmod 600 {file}"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")
def test_a_file_of_another_user_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text(VALUE)
    file.chmod(0o644)
    os.chown(file, 1234, 1234)
    assert reveal(FileSource(str(file))) == VALUE


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_that_was_replaced_by_a_link_is_rejected(tmp_path: Path, *, is_folder: bool) -> None:
    folder, private = tmp_path / "keys", tmp_path / "private"
    for each in (folder, private):
        each.mkdir()
        (each / "a").write_text(VALUE)
        (each / "a").chmod(0o600)
    store = SecretStore({"A": FileSource(str(folder / "a"))}, {})
    replaced = folder if is_folder else folder / "a"
    replaced.rename(tmp_path / "moved")
    replaced.symlink_to(private if is_folder else private / "a")
    with pytest.raises(UsageError, match="leads to another file than when the executor was created"):
        store.reveal(["A"])


def test_a_link_and_a_file_that_an_editor_has_replaced_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "new").touch(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    store = SecretStore({"A": FileSource(str(tmp_path / "link"))}, {})
    (tmp_path / "new").write_text(VALUE)
    (tmp_path / "new").rename(tmp_path / "a")
    assert store.reveal(["A"]) == {"A": VALUE}


def test_a_read_only_mount_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a"
    file.write_text(VALUE)
    real = os.fstatvfs
    read_only = SimpleNamespace(f_flag=real(0).f_flag | os.ST_RDONLY)
    monkeypatch.setattr("os.fstatvfs", lambda _: read_only)
    assert reveal(FileSource(str(file))) == VALUE


def test_secrets_do_not_wait_for_each_other(tmp_path: Path) -> None:
    door = tmp_path / "door"
    os.mkfifo(door)
    store = SecretStore({"SLOW": CommandSource(("cat", str(door))), "QUICK": LiteralSource(VALUE)}, {})
    found: list[dict[str, str]] = []
    slow = threading.Thread(target=lambda: found.append(store.reveal(["SLOW"])))
    slow.start()
    with door.open("w") as opened:
        # The reader of SLOW now has all the locks that it needs.
        assert store.reveal(["QUICK"]) == {"QUICK": VALUE}
        opened.write(VALUE)
    slow.join()
    assert found == [{"SLOW": VALUE}]


def test_invalid_paths_are_reported() -> None:
    assert problem(FileSource("~no-such-user/a")) == (
        "the secret 'A': cannot read ~no-such-user/a: Could not determine home directory."
    )
    assert problem(FileSource("/a\0b")).endswith("embedded null byte")
    assert problem(CommandSource(("pass", "a\0b"))) == "the secret 'A': cannot run 'pass': embedded null byte"


def test_a_command_with_too_much_output_is_killed() -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 4096)"
    assert problem(CommandSource((sys.executable, "-c", code))) == (
        "the value of the secret 'A' is longer than 64KiB; use another value"
    )


@pytest.mark.parametrize("code", ["pass", "import os; os.close(1)"])
def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(secret_sources, "COMMAND_SECONDS", 0.5)
    waiting = problem(CommandSource((sys.executable, "-c", f"{code}; import time; time.sleep(60)")))
    assert waiting.startswith(f"the secret 'A': {sys.executable!r} took more than 0.5 seconds; run it yourself")


def test_a_command_is_not_run_by_a_shell(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1])"
    word = f"$(touch {tmp_path}/made); `id` | $HOME"
    assert reveal(CommandSource((sys.executable, "-c", code, word))) == word
    assert not (tmp_path / "made").exists()


def test_a_value_is_read_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = f"open({str(count)!r}, 'a').write('x'); print({VALUE!r})"
    store = SecretStore({"A": CommandSource((sys.executable, "-c", code))}, {})
    threads = [threading.Thread(target=store.reveal, args=(["A"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.read_text() == "x"


def test_values_are_not_in_repr() -> None:
    store = SecretStore({"A": LiteralSource(VALUE)}, {"TOOLC_SECRET_B": VALUE})
    store.reveal(["A", "B"])
    assert repr(store) == "<SecretStore: A>"
    assert VALUE not in repr(LiteralSource(VALUE))


def test_sources_in_the_configuration_are_used(tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    configuration_folder(home).mkdir(mode=0o700)
    path = configuration_folder(home) / "config.yaml"
    path.write_text("secrets:\n  A: {env: X}\n  B: {file: ~/b}\n  C: {command: [pass, show, c]}\n")
    path.chmod(0o600)
    assert load_configuration(home).secrets == {
        "A": EnvSource("X"),
        "B": FileSource("~/b"),
        "C": CommandSource(("pass", "show", "c")),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("secrets: {A: hunter2hunter2}", ":1:14: secrets.A must be the source of the value, not the value itself"),
        ("secrets: {A: {file: b}}", ":1:21: 'file' is not an absolute path; start it with / or ~"),
        ("secrets: {A: {}}", ":1:14: "),
        ("secrets: {A: {env: X, file: /b}}", ":1:"),
        ("secrets: {A: {vault: X}}", ":1:"),
    ],
)
def test_errors_of_sources_in_the_configuration_are_reported(tmp_path: Path, text: str, expected: str) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    configuration_folder(home).mkdir(mode=0o700)
    path = configuration_folder(home) / "config.yaml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value).startswith(f"{path}{expected}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.yaml", "A: correct horse\nB: {env: X}\n"),
        ("s.toml", 'A = "correct horse"\nB = {env = "X"}\n'),
        ("secrets", '"A": "correct horse"\nB: {env: X}\n'),
    ],
)
def test_a_file_of_secrets_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert load_secrets(tmp_path / name) == {"A": LiteralSource("correct horse"), "B": EnvSource("X")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A: 1234567890", ":1:4: the value of 'A' is not a string; write it in quotes"),
        ("A: [correct horse]", ":1:4: A must be the source of the value, not the value itself"),
        ("A: 'correct horse", ":1:4: cannot be read; write lines such as NAME: value, with values in quotes"),
        ("- correct horse", ":1:1: cannot be read; write lines such as NAME: value, with values in quotes"),
        ("A=correct horse", ":1:1: cannot be read; write lines such as NAME: value, with values in quotes"),
    ],
)
def test_errors_of_a_secrets_file_do_not_show_values(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_secrets(path)
    assert str(caught.value) == f"{path}{expected}"


def test_a_missing_secrets_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/no does not exist; --secrets needs a file with lines such as NAME: value"):
        load_secrets(tmp_path / "no")
