"""JWTs: which are accepted, as whom, and every attack that RFC 8725 lists."""

import time
from typing import Any

import anyio
import jwt
import pytest
from calls.jwt_issuer import AUDIENCE, URL, TestIssuer, base64url, encoded, issuer_settings
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from toolc.config.configuration import ClientSettings, Configuration, Issuer, Scope
from toolc.model.errors import UsageError
from toolc.serve import issuer_keys
from toolc.serve.http.gate import Caller, RefusedTokenError
from toolc.serve.http.host import ClientSettingsFile
from toolc.serve.http.jwt_callers import MAX_TOKEN, JwtCallers
from toolc.serve.issuer_keys import parse_keys

pytestmark = pytest.mark.anyio
READ, REVIEW, ALL = Scope(tags=("read",)), Scope(role="reviewer", tags=()), Scope()


@pytest.fixture(scope="module")
def issuer() -> TestIssuer:
    return TestIssuer()


def callers(issuer: TestIssuer, *, default: bool = True, **scopes: Scope) -> JwtCallers:
    return JwtCallers(settings(default=default, **scopes), AUDIENCE, issuer.read)


def settings(*, default: bool = True, **scopes: Scope) -> ClientSettingsFile:
    clients = {"alice": ClientSettings(issuer=URL, subject="user-1")}
    clients |= {"default": ClientSettings()} if default else {}
    configuration = Configuration(clients=clients, issuers={URL: issuer_settings(scopes)})
    return ClientSettingsFile(load=lambda: configuration)


async def refusal(found: JwtCallers, token: str) -> tuple[int, str]:
    with pytest.raises(RefusedTokenError) as raised:
        await found.caller(token)
    return raised.value.status, str(raised.value)


@pytest.mark.parametrize(
    ("kid", "algorithm"), [("rsa", "RS256"), ("rsa", "RS512"), ("rsa", "PS256"), ("ec", "ES256"), ("ed", "EdDSA")]
)
async def test_a_token_of_each_kind_of_key_is_its_subject(issuer: TestIssuer, kid: str, algorithm: str) -> None:
    caller = await callers(issuer).caller(issuer.token(kid, algorithm))
    assert caller == Caller(name=f"{URL}#user-1", entry="alice")
    assert caller.claims == {"iss": URL, "sub": "user-1", "aud": AUDIENCE, "name": "alice"}


async def test_the_name_that_a_user_chooses_is_not_the_name_of_the_client(issuer: TestIssuer) -> None:
    token = issuer.token(sub="user-2", name="alice", tenant="t", groups=["a"])
    assert (await callers(issuer).caller(token)).claims == {"iss": URL, "sub": "user-2", "aud": AUDIENCE, "tenant": "t"}


NOW = int(time.time())


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": NOW - 120}, "this token is refused: Signature has expired"),
        ({"exp": None}, 'this token is refused: Token is missing the "exp" claim'),
        ({"exp": "soon"}, "this token is not valid"),
        ({"nbf": NOW + 3600}, "this token is refused: The token is not yet valid (nbf)"),
        ({"iat": NOW + 3600}, "this token is refused: The token is not yet valid (iat)"),
        ({"aud": "https://other.example.com/mcp"}, "this token is refused: Audience doesn't match"),
        ({"aud": ["https://other.example.com/mcp"]}, "this token is refused: Audience doesn't match"),
        ({"aud": AUDIENCE + "/"}, "this token is refused: Audience doesn't match"),
        ({"aud": None}, 'this token is refused: Token is missing the "aud" claim'),
        ({"iss": URL + "/"}, "this token is not valid"),
        ({"iss": None}, "this token is not valid"),
        ({"sub": None}, 'this token is refused: Token is missing the "sub" claim'),
        ({"sub": ""}, "the subject of this token cannot be used"),
        ({"sub": "a\nb"}, "the subject of this token cannot be used"),
        ({"sub": "a" * 256}, "the subject of this token cannot be used"),
    ],
)
async def test_a_signed_token_with_a_wrong_claim_is_refused(
    issuer: TestIssuer, claims: dict[str, Any], message: str
) -> None:
    assert await refusal(callers(issuer), issuer.token(**claims)) == (401, message)


async def test_clocks_may_differ_a_little(issuer: TestIssuer) -> None:
    token = issuer.token(exp=int(time.time()) - 5, nbf=int(time.time()) + 5)
    assert (await callers(issuer).caller(token)).entry == "alice"


@pytest.mark.parametrize(
    "header",
    [
        {"kid": "../../etc/passwd"},
        {"kid": "https://evil.example.com/key"},
        {"kid": "' OR 1=1 --"},
        {"kid": "ec"},  # the id of a key of another type
        {"kid": "other", "jku": "https://evil.example.com/jwks"},
        {"kid": "other", "x5u": "https://evil.example.com/cert"},
        {"typ": "logout+jwt"},
        {"typ": "dpop+jwt"},
        {"typ": ["JWT"]},
        {"crit": ["b64"], "b64": False},
        {"crit": ["x"], "x": 1},
    ],
)
async def test_a_header_cannot_choose_another_key_or_meaning(issuer: TestIssuer, header: dict[str, Any]) -> None:
    token = issuer.token()
    parts = token.split(".")
    signed = b".".join([encoded({"alg": "RS256", "kid": "rsa", **header}), parts[1].encode()])
    signature = base64url(issuer.keys["rsa"].sign(signed, PKCS1v15(), SHA256()))
    assert await refusal(callers(issuer), (signed + b"." + signature).decode()) == (401, "this token is not valid")


async def test_forged_tokens_are_refused(issuer: TestIssuer) -> None:
    other, good = TestIssuer(), issuer.token()
    head, body, signature = good.split(".")
    own_key = jwt.algorithms.RSAAlgorithm.to_jwk(other.keys["rsa"].public_key(), as_dict=True)
    forged = [
        *(issuer.unsigned_token(each) for each in ("none", "None", "NONE", "nOnE", "", "HS256", "RS256")),
        issuer.confused_token(),
        other.token(),
        other.token(header={"jwk": own_key}),
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"{head}.{encoded({'iss': URL, 'sub': 'user-2', 'aud': AUDIENCE, 'exp': NOW + 600}).decode()}.{signature}",
        f"{head}.{encoded({'iss': [URL]}).decode()}.{signature}",
        "..", "a.b.c", f"{head}.{body}", f"{good}.{signature}", "\xff.\xff.\xff", f" {good}.", "é.é.é",
        f"{encoded([]).decode()}.{body}.{signature}",
        f"{encoded({'alg': ['RS256'], 'kid': 'rsa'}).decode()}.{body}.{signature}",
        f"{encoded({'alg': 'RS256', 'kid': {}}).decode()}.{body}.{signature}",
        f"{base64url(b'[' * 9000).decode()}.{body}.{signature}",
        issuer.token(padding="x" * MAX_TOKEN),
    ]  # fmt: skip
    found = callers(issuer)
    for each in forged:
        status, message = await refusal(found, each)
        assert (status, message) == (401, "this token is not valid"), each[:80]


async def test_an_unknown_subject_needs_a_default(issuer: TestIssuer) -> None:
    found = callers(issuer, default=False)
    assert (await found.caller(issuer.token())).entry == "alice"
    assert await refusal(found, issuer.token(sub="user-2")) == (
        403,
        "this server does not know the subject of this token",
    )


@pytest.mark.parametrize(
    ("claims", "role", "tags"),
    [
        ({"scope": "tools.read other"}, "caller", ("read",)),
        ({"scp": ["tools.read"]}, "caller", ("read",)),
        ({"scp": "tools.review"}, "reviewer", ()),
        ({"scope": "tools.review tools.read"}, "reviewer", ("read",)),
        ({"scope": "tools.all tools.read"}, "caller", None),
    ],
)
async def test_scopes_decide_about_tools_and_role(
    issuer: TestIssuer, claims: dict[str, Any], role: str, tags: tuple[str, ...] | None
) -> None:
    caller = await callers(issuer, tools_read=READ, tools_review=REVIEW, tools_all=ALL).caller(issuer.token(**claims))
    assert (caller.role, caller.tags) == (role, tags)


@pytest.mark.parametrize("claims", [{}, {"scope": "other"}, {"scope": ""}, {"scope": 1}, {"scope": None, "scp": {}}])
async def test_a_token_without_a_known_scope_is_refused(issuer: TestIssuer, claims: dict[str, Any]) -> None:
    found = callers(issuer, tools_read=READ)
    assert await refusal(found, issuer.token(**claims)) == (403, "this token has none of the scopes tools.read")


class TestKeys:
    async def test_keys_are_read_once_for_many_tokens(self) -> None:
        issuer = TestIssuer()
        found = callers(issuer)
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(found.caller, issuer.token())
        assert issuer.reads == 1

    async def test_a_new_key_is_found_and_a_withdrawn_one_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        issuer = TestIssuer()
        issuer.published = ["rsa"]
        found = callers(issuer)
        await found.caller(issuer.token("rsa"))
        issuer.published = ["ec"]
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(found.caller, issuer.token("ec"))
        assert issuer.reads == 2
        assert (await refusal(found, issuer.token("rsa")))[0] == 401
        issuer.published = ["ed"]
        assert (await refusal(found, issuer.token("ed")))[0] == 401  # soon after a read that did not have the key
        monkeypatch.setattr(issuer_keys, "RETRY_SECONDS", 0)
        await found.caller(issuer.token("ed"))

    async def test_many_unknown_keys_cause_one_attempt(self) -> None:
        issuer = TestIssuer()
        found = callers(issuer)
        for number in range(20):
            await refusal(found, issuer.token(header={"kid": f"k{number}"}))
        assert issuer.reads == 1

    async def test_keys_that_cannot_be_read_again_are_used_for_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        issuer, is_down = TestIssuer(), False

        def read(each: Issuer) -> bytes:
            if is_down:
                raise UsageError("it is down")
            return issuer.read(each)

        found = JwtCallers(settings(), AUDIENCE, read)
        await found.caller(issuer.token())
        is_down = True
        monkeypatch.setattr(issuer_keys, "FRESH_SECONDS", -1)
        monkeypatch.setattr(issuer_keys, "RETRY_SECONDS", 0)
        await found.caller(issuer.token())
        monkeypatch.setattr(issuer_keys, "STALE_SECONDS", -1)
        expected = f"the keys of {URL} cannot be read at present"
        assert await refusal(found, issuer.token()) == (503, expected)
        assert await refusal(found, issuer.token()) == (503, expected)

    async def test_a_token_without_a_key_id_needs_a_set_with_one_key(self) -> None:
        issuer = TestIssuer()
        token = jwt.encode(jwt.decode(issuer.token(), options={"verify_signature": False}), issuer.keys["rsa"], "RS256")
        assert (await callers(issuer).caller(token)).entry == "alice"  # the only one for RS256
        issuer.keys["rsa-2"] = TestIssuer().keys["rsa"]
        issuer.published = ["rsa", "rsa-2"]
        assert (await refusal(callers(issuer), token))[0] == 401

    @pytest.mark.filterwarnings("ignore:The RSA key is 1024 bits long")
    async def test_a_weak_key_verifies_nothing(self) -> None:
        issuer = TestIssuer()
        issuer.keys["rsa"] = rsa.generate_private_key(65537, 1024)
        assert (await refusal(callers(issuer), issuer.token()))[0] == 401

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [' + b"{}," * 100 + b"{}]}", b"\xff"]
    )
    async def test_other_documents_are_not_keys(self, data: bytes) -> None:
        with pytest.raises(UsageError):
            parse_keys(data)

    async def test_private_and_symmetric_keys_and_those_for_encryption_are_not_used(self) -> None:
        data = b'{"keys": [{"kty": "oct", "k": "AA"}, {"kty": "RSA", "d": "x"}, {"kty": "RSA", "use": "enc"}, 1]}'
        assert parse_keys(data) == ()
