"""The name files of a sandbox."""

from toolc.sandbox.common_config import FILES, hosts


def test_name_files_have_fixed_content() -> None:
    assert FILES == {
        "hostname": "sandbox\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "resolv.conf": "",
    }


def test_hosts_of_a_call() -> None:
    assert hosts([("127.0.1.1", "api.example.com"), ("127.0.1.2", "example.com")]) == (
        "127.0.0.1 localhost sandbox\n::1 localhost\n127.0.1.1 api.example.com\n127.0.1.2 example.com\n"
    )
