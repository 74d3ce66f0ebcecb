"""A Dockerfile must not make the daemon download anything: it uses the host's network."""

import pytest

from toolc.sandbox.images.metadata import base_images, remote_source


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FROM x\nADD http://127.0.0.1:8080/key /key\n", "http://127.0.0.1:8080/key /key"),
        ("FROM x\n  add --chown=1 HTTPS://a.example/x /x", "--chown=1 HTTPS://a.example/x /x"),
        ('FROM x\nADD ["ftp://a.example/x", "/x"]\n', '["ftp://a.example/x", "/x"]'),
        ("FROM x\nARG U=http\nADD ${U} /x\n", "${U} /x"),
        ("FROM x\nADD git@a.example:b.git /x\n", "git@a.example:b.git /x"),
        ("FROM x\nONBUILD ADD http://a /x\n", "http://a /x"),
        ("FROM x\nA\\\nDD \\\n# a comment\nhttp://a /x\n", "http://a /x"),
        ("# escape=`\nFROM x\nADD `\nhttp://a /x\n", "http://a /x"),
    ],
)
def test_sources_that_the_daemon_downloads(text: str, found: str) -> None:
    assert remote_source(text.encode()) == found


@pytest.mark.parametrize(
    "text",
    ["", "FROM x\nADD files.tar /\n", "FROM x\nCOPY a /b\nRUN curl http://a.example\n", "# ADD http://a /x\nFROM x\n"],
)
def test_local_sources(text: str) -> None:
    assert remote_source(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("ARG BASE\nFROM ${BASE}\n", ("own:1",)),
        ("ARG BASE=other:1\nFROM $BASE\n", ("own:1",)),
        ("ARG V=12\nFROM --platform=linux/amd64 debian:${V} AS a\nFROM A\nFROM b:1\n", ("debian:12", "b:1")),
        ("from x as y\nFROM scratch\nCOPY --from=z / /\n", ("x",)),
        ("FROM x\nARG V=2\nFROM y:$V\n", ("x", "y:")),
        ("# FROM no\nFR\\\nOM x\n", ("x",)),
        ('ARG V="12"\nFROM "debian:$V"\n', ("debian:12",)),
    ],
)
def test_base_images(text: str, found: tuple[str, ...]) -> None:
    assert base_images(text.encode(), "own:1") == found
