"""Unmodified client programs reach the allowed destinations through the broker, and no others, on every engine."""

from typing import Final

import pytest
from egress_calls import CA, Call, everywhere, network, run, text
from engines.configurations import available

from toolc.model.json_schema import JsonObject, JsonValue

pytestmark = pytest.mark.timeout(300)  # the first test builds the image of the clients


@everywhere
def test_curl_and_git_reach_exact_names(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}curl -sS http://api.toolc.test:{there.http}/hello\n"
        f"curl -sS --cacert /tmp/ca.pem https://api.toolc.test:{there.https}/hello\n"
        f"curl -sS http://127.0.0.1:{there.http}/hello\n"
        f"GIT_SSL_CAINFO=/tmp/ca.pem git clone -q https://git.toolc.test:{there.https}/repo.git /tmp/repo\n"
        "git -C /tmp/repo log --format=%s\n",
        f"api.toolc.test:{there.http}",
        f"api.toolc.test:{there.https}",
        f"git.toolc.test:{there.https}",
    )
    assert text(result) == "hello from the server\n" * 3 + "first of all\n"
    assert all(each["allowed"] for each in network(result))
    assert {each["entry"] for each in network(result)} == {
        f"api.toolc.test:{there.http}",
        f"api.toolc.test:{there.https}",
        f"127.0.0.1:{there.http}",
        f"git.toolc.test:{there.https}",
    }


@everywhere
def test_wildcards_and_unlisted_names_use_the_proxy(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}curl -sS --cacert /tmp/ca.pem https://a.wild.toolc.test:{there.https}/hello\n"
        f"curl -sS http://b.wild.toolc.test:{there.http}/hello\n"
        f"curl -sS http://other.toolc.test:{there.http}/hello\n"
        f"curl -sS https://other.toolc.test:{there.https}/hello 2>&1 || echo $?\n",
        f"*.wild.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.http}",
    )
    found = text(result)
    assert found.startswith("hello from the server\n" * 2)
    assert f"toolc: no entry of network.allow covers other.toolc.test:{there.http}\n" in found
    assert "403" in found
    assert [each["allowed"] for each in network(result)] == [True, True, False, False]
    assert network(result)[3]["would_allow"] == f"other.toolc.test:{there.https}"


PYTHON: Final = """\
import http.client, json, os, socket, ssl, sys, urllib.request
context = ssl.create_default_context(cadata=os.environ["CA"])
print(urllib.request.urlopen("https://api.toolc.test:{https}/hello", context=context).read())
print(urllib.request.urlopen("https://p.wild.toolc.test:{https}/hello", context=context).read())
with socket.create_connection(("ssh.toolc.test", {banner})) as connection:
    print(connection.recv(100))
"""


@everywhere
def test_python_reaches_names_wildcards_and_servers_that_send_first(name: str, call: Call) -> None:
    there = call.there
    code = PYTHON.format(https=there.https, banner=there.banner)
    result = call(
        name,
        f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n",
        f"api.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.https}",
        f"ssh.toolc.test:{there.banner}",
    )
    assert text(result) == "b'hello from the server\\n'\n" * 2 + "b'SSH-2.0-toolc_test\\r\\n'\n"


@everywhere
def test_node_fetch_reaches_exact_names(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}NODE_EXTRA_CA_CERTS=/tmp/ca.pem node -e "
        f"'fetch(\"https://api.toolc.test:{there.https}/hello\").then(r => r.text()).then(t => console.log(t))'\n",
        f"api.toolc.test:{there.https}",
    )
    assert text(result) == "hello from the server\n\n"


@everywhere
def test_pip_reaches_an_index(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}/usr/bin/python3 -m pip -q download --no-deps --cert /tmp/ca.pem --dest /tmp/packages "
        f"--index-url https://index.toolc.test:{there.https}/simple toolc-greets\n"
        "echo /tmp/packages/*\n",  # gVisor of 2022 refuses `ls FOLDER`
        f"index.toolc.test:{there.https}",
    )
    assert text(result) == "/tmp/packages/toolc_greets-1.0-py3-none-any.whl\n"


@everywhere
def test_psql_reaches_a_database_by_name(name: str, call: Call) -> None:
    there = call.there
    script = f"psql -h db.toolc.test -p {there.database} -U anybody -At -c 'select 1' anything\n"
    assert text(call(name, script, f"db.toolc.test:{there.database}")) == "hello from the database\n"


@everywhere
def test_ssh_receives_the_banner_of_a_server(name: str, call: Call) -> None:
    there = call.there
    script = f"ssh -v -o BatchMode=yes -p {there.banner} ssh.toolc.test 2>&1 | grep -o 'software version toolc_test'\n"
    assert text(call(name, script, f"ssh.toolc.test:{there.banner}")) == "software version toolc_test\n"


HTTPX: Final = (
    "httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.16.0", "idna==3.20", "certifi==2026.10.18",
    "typing_extensions==4.16.0",
)  # fmt: skip

ASK: Final = """\
import os, ssl, httpx
def run():
    context = ssl.create_default_context(cadata=os.environ["CA"])
    with httpx.Client(verify=context) as asking:
        names = ("https://api.toolc.test:{https}/hello", "https://x.wild.toolc.test:{https}/hello",
                 "http://api.toolc.test:{http}/hello", "http://other.toolc.test:{http}/hello")
        return "".join(asking.get(name).text for name in names)
"""


@everywhere
def test_httpx_reaches_names_and_wildcards(name: str, call: Call) -> None:
    there, configuration = call.there, available(name)
    allow: list[JsonValue] = [
        f"api.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.https}",
        f"api.toolc.test:{there.http}",
        f"127.0.0.1:{there.https}",
        f"127.0.0.1:{there.http}",
    ]
    backend: JsonObject = {
        "python": {"code": ASK.format(https=there.https, http=there.http), "function": "run", "requirements": [*HTTPX]}
    }
    sandbox: JsonObject = {"network": {"allow": allow}, "env": {"CA": there.authority}}
    assert text(run(configuration, backend, sandbox, call.folder)) == (
        "hello from the server\n" * 3 + f"toolc: no entry of network.allow covers other.toolc.test:{there.http}\n"
    )


@everywhere
def test_empty_and_missing_lists_allow_nothing(name: str, call: Call) -> None:
    backend: JsonObject = {"python": {"code": LOOK.format(port=call.there.http), "function": "run"}}
    empty: JsonObject = {"network": {"allow": []}}
    for sandbox in (empty, {}):
        result = run(available(name), backend, sandbox, call.folder)
        assert text(result) == "refused, no name, 0 listeners, []"
        assert network(result) == []


LOOK: Final = """\
import os, socket
def run():
    try:
        socket.create_connection(("127.0.0.1", {port}), 5)
        one = "connected"
    except ConnectionRefusedError:
        one = "refused"
    try:
        socket.getaddrinfo("api.toolc.test", 443)
        two = "a name"
    except OSError:
        two = "no name"
    listening = open("/proc/net/tcp").read().count(" 0A ")
    proxies = [name for name in os.environ if "proxy" in name.lower()]
    return f"{{one}}, {{two}}, {{listening}} listeners, {{proxies}}"
"""


@everywhere
def test_another_server_name_in_tls_is_refused(name: str, call: Call) -> None:
    there = call.there
    as_another = "curl -sSk --noproxy '*'"
    result = call(
        name,
        f"{as_another} --connect-to evil.test:443:api.toolc.test:{there.https} https://evil.test/hello || echo $?\n"
        f"{as_another} --resolve evil.test:{there.https}:127.0.1.1 https://evil.test:{there.https}/ || echo $?\n",
        f"api.toolc.test:{there.https}",
    )
    assert "hello" not in text(result)
    assert [each["reason"] for each in network(result)] == [
        "the client's TLS names evil.test, but the connection is to api.toolc.test"
    ] * 2
    assert not any(each["bytes_out"] for each in network(result))
    assert not any(each["allowed"] for each in network(result))


@everywhere
def test_name_of_this_machine_needs_an_allowed_address(name: str, call: Call) -> None:
    # Port 80 usually needs a privilege: the guest, which has none, must listen on it.
    result = call(name, "curl -sS http://api.toolc.test/hello || echo $?\n", "api.toolc.test:80", literals=False)
    assert "hello" not in text(result)
    (attempt,) = network(result)
    assert attempt["reason"] == (
        "api.toolc.test resolves to 127.0.0.1, which is the machine that toolc runs on; "
        "only an entry 127.0.0.1:80 would allow that"
    )
