"""The name and the media type of a response that is a file."""

import pytest
from http_responses import response

from toolc.guest.http.body import file_of

URL = "https://a.example/files/report%202.pdf?token=x/y"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("", "report 2.pdf"), ("inline", "report 2.pdf"), ("attachment; filename=a.bin", "a.bin"),
        ('attachment; filename="a \\"b\\".bin"; size=3', 'a "b".bin'),
        ("attachment; filename=a.bin; filename*=UTF-8''na%C3%AFve.bin", "na\u00efve.bin"),
        ('attachment; filename="na\u00c3\u00afve.bin"', "na\u00efve.bin"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\Users\\\\a.bin"', "a.bin"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        ('attachment; filename=".."', "report 2.pdf"), ("attachment; filename*=UTF-8''a%0D%0A%00b.bin", "ab.bin"),
        (f"attachment; filename={'x' * 300}.bin", "x" * 96 + ".bin"),
    ],
)  # fmt: skip
def test_a_file_name_is_the_servers_without_folders(header: str, name: str) -> None:
    assert file_of(response(b"\0", content_disposition=header), URL.partition("?")[0], URL).name == name


@pytest.mark.parametrize("url", ["https://a.example", "https://a.example/", "https://a.example/..", "https://b/%2E%2F"])
def test_a_url_without_a_name_has_the_default_name(url: str) -> None:
    assert file_of(response(b"\0"), url, URL).name == "response"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("application/pdf; x=y", "application/pdf"),
        ("Application/PDF", "application/pdf"),
        ("", "application/octet-stream"),
        ("a b/c", "application/octet-stream"),
    ],
)
def test_an_invalid_media_type_becomes_the_default(declared: str, kind: str) -> None:
    assert file_of(response(b"\0", content_type=declared), URL, URL).mime_type == kind


@pytest.mark.parametrize(
    ("url", "header", "name"),
    [
        ("https://a.example/files/a%2Fb.bin", "", "MARKb.bin"),
        ("https://a.example/x/b.bin", "", "MARKb.bin"),
        ("https://a.example/files/report%202.pdf", "", "report 2.pdf"),
        ("https://a.example/", "attachment; filename=a.bin", "a.bin"),
        ("https://a.example/", "attachment; filename=a/b.bin", "MARKb.bin"),
        ("https://a.example/", f"attachment; filename={'a' * 101}", "MARK" + "a" * 100),
    ],
)
def test_a_truncated_name_is_marked(monkeypatch: pytest.MonkeyPatch, url: str, header: str, name: str) -> None:
    monkeypatch.setattr("toolc.guest.truncate.mark", "MARK")
    assert file_of(response(b"\0", content_disposition=header), url, URL).name == name
