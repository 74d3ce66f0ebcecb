"""The tools of http.yaml: fetch a page as text, and send one request."""

import codecs
import http.client
import re
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zlib

import web_page

MAX_PAGE = 4 * 1024 * 1024
MAX_BODY = 200_000
ALLOWED = "only public addresses may be reached, by https on port 443"
AGENT = "toolc-http/1"
HTML = ("text/html", "application/xhtml+xml")
OURS = ("connection", "content-length", "host", "transfer-encoding")
KINDS = {401: "authentication", 403: "authentication", 404: "not_found", 410: "not_found", 429: "rate_limit"}


def http_fetch(url, max_characters, ctx):
    wanted = {"Accept": "text/html, text/*, */*;q=0.5"}
    response, data, more = _send(ctx, _asked(ctx, url, headers=wanted))
    if response.status >= 400:
        found = KINDS.get(response.status, "network" if response.status >= 500 else "execution")
        said = f"HTTP {response.status} {response.reason}: {_head(response, data)}"
        raise ctx.error(found, said + _again(response))
    media_type = _media_type(response, data)
    title, text = "", _text(response, data, more)
    if _is_binary(media_type, data) or "\0" in text[:4096]:
        raise ctx.error("serialization", f"the page is {media_type}, which is not text")
    if media_type in HTML:
        page = web_page.page_of(text)
        title, text = page.title(), page.text()
    cut = more or len(text) > max_characters
    found = {
        "url": response.url,
        "status": response.status,
        "title": title,
        "content_type": media_type,
        "body": text[:max_characters],
        "truncated": cut,
    }
    shown = (f"# {title}\n\n" if title else "") + found["body"] + ("\n[the rest is cut]" if cut else "")
    if media_type in HTML and not text:
        shown += "[the page has no text; scripts may create it in a browser]"
    return ctx.result(shown, structured=found)


def http_request(url, method, headers, ctx, body=None):
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n\0]", value):
            raise ctx.error("invalid_args", f"the name or value of the header {name!r} is not valid")
        if name.lower() in OURS:
            raise ctx.error("invalid_args", f"the header {name!r} is set by this tool; leave it out")
    # As UTF-8, because http.client refuses letters that are not in Latin-1.
    headers = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    data = None if body is None else body.encode()
    if data is not None and not any(name.lower() == "content-type" for name in headers):
        is_json = body[:1] in {"{", "["}
        headers = {**headers, "Content-Type": "application/json" if is_json else "text/plain; charset=utf-8"}
    response, data, more = _send(ctx, _asked(ctx, url, data=data, headers=headers, method=method))
    text, media_type = _text(response, data, more), _media_type(response, data)
    if _is_binary(media_type, data) or "\0" in text[:4096]:
        text = f"[{len(data)} bytes of {media_type}, which is not text]"
    found = {}
    for name, value in response.headers.items():
        found[name.lower()] = f"{found[name.lower()]}, {value}" if name.lower() in found else value
    cut = more or len(text) > MAX_BODY
    return {"status": response.status, "headers": found, "body": text[:MAX_BODY], "truncated": cut}


class BrokenError(Exception):
    """A body that does not match its headers."""


class _Every(urllib.request.HTTPErrorProcessor):
    """Returns responses with any status. Redirects are followed; ``url`` is the last one."""

    url = ""

    def http_request(self, request):
        self.url = request.full_url
        return request

    def http_response(self, request, response):
        if response.status in (301, 302, 303, 307, 308) and response.headers.get("Location"):
            return super().http_response(request, response)
        return response

    https_request = http_request
    https_response = http_response


class _Led(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with every method (RFC 9110, 15.4), without credentials to another host."""

    def redirect_request(self, request, response, code, reason, headers, url):
        method, data = request.get_method(), request.data
        if (code == 303 and method != "HEAD") or (code in (301, 302) and method == "POST"):
            method, data = "GET", None
        places = [urllib.parse.urlsplit(each) for each in (request.full_url, url)]
        if places[1].scheme not in ("http", "https"):
            raise urllib.error.HTTPError(url, code, "it is not a URL of http or https", headers, response)
        dropped = () if data else ("content-type",)
        if places[0][:2] != places[1][:2]:
            dropped = (*dropped, "authorization", "cookie")
        kept = {name: value for name, value in request.headers.items() if name.lower() not in dropped}
        return urllib.request.Request(url, data=data, headers=kept, method=method)  # noqa: S310  checked above


def _asked(ctx, url, **parts):
    """Return a request for a valid URL."""
    try:
        request = urllib.request.Request(_ascii(url), **parts)  # noqa: S310  the scheme is checked below
    except ValueError as error:
        reason = "begin it with https://" if "unknown url type" in str(error) else error
        raise ctx.error("invalid_args", f"{url[:200]!r} is not a URL: {reason}") from None
    if request.type not in ("http", "https"):
        raise ctx.error("invalid_args", f"{url[:200]!r} is not a URL that begins with https://")
    if not request.host:
        raise ctx.error("invalid_args", f"{url[:200]!r} has no host")
    if re.search(r"[@\s\\]", request.host):
        raise ctx.error("invalid_args", f"the host of {url[:200]!r} is not valid; remove user names, spaces and '\\'")
    return request


def _ascii(url):
    """Return a URL as browsers send it: the host in IDNA, the rest percent-encoded if it is not yet."""
    start, host, rest = re.match(r"([^/]*//)?([^/?#]*)(.*)", url.strip(), re.DOTALL).groups("")
    host = host if host.isascii() else host.encode("idna").decode()
    return start + host + urllib.parse.quote(rest, safe="".join(map(chr, range(33, 127))))


def _send(ctx, request):
    """Return the response, the part of its body that was read, and whether there is more."""
    if not request.has_header("User-agent"):
        request.add_header("User-agent", AGENT)
    request.add_header("Accept-encoding", "gzip, deflate")
    every = _Every()
    try:
        response = urllib.request.build_opener(every, _Led).open(request)
        data = response.read(MAX_PAGE + 1)
        more = len(data) > MAX_PAGE
        if response.length and not more and request.get_method() != "HEAD":
            raise BrokenError(f"the connection ended {response.length} bytes before the end of the body")
        for encoding in reversed(re.findall(r"[^,\s]+", response.headers.get("Content-Encoding", "").lower())):
            data, more = _unpacked(encoding, data, more)
    except urllib.error.HTTPError as error:
        why = "there are too many redirects" if "infinite loop" in error.reason else error.reason
        raise ctx.error("network", f"a redirect to {error.url} is not followed: {why}") from None
    except http.client.IncompleteRead:
        raise ctx.error("network", f"{_host(every.url)} closed the connection in the middle of its response") from None
    except BrokenError as error:
        raise ctx.error("network", f"a broken response from {_host(every.url)}: {error}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(ctx, every.url or request.full_url, error) from None
    if every.url.startswith("http:") and data.startswith(b"toolc: "):
        reason = data[:500].decode("utf-8", "replace").removeprefix("toolc: ").strip()
        if response.reason.partition(": ")[2][:40] == reason[:40]:
            raise _refused(ctx, _host(every.url), response.status, reason)
    return response, data, more


def _failed(ctx, url, error):
    reason = getattr(error, "reason", error)
    words, host = str(reason) or type(reason).__name__, _host(url)
    if refusal := re.fullmatch(r"Tunnel connection failed: ([0-9]+) [^:]*: (.*)", words):
        return _refused(ctx, host, int(refusal[1]), refusal[2])
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return ctx.error("invalid_args", f"{url[:200]!r} is not a URL: {words}")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ctx.error("network", f"the certificate of {host} is not trusted: {reason.verify_message}")
    if isinstance(reason, socket.gaierror):
        return ctx.error("denied", f"no connection to {host}: {ALLOWED}")
    return ctx.error("network", f"no response from {host}: {words}")


def _refused(ctx, host, status, reason):
    """Return the error for a response of the sandbox's proxy."""
    kind = {403: "denied", 504: "timeout"}.get(status, "network")
    hint = f" ({ALLOWED})" if kind == "denied" else ""
    return ctx.error(kind, f"no connection to {host}: {reason}{hint}")


def _host(url):
    """Return the host and port of a URL; urllib's own ``host`` is that of the proxy."""
    return re.sub(r"^[^/]*//(?:[^/?#]*@)?([^/?#]*).*", r"\1", url, flags=re.DOTALL)[:300]


def _unpacked(encoding, data, more):
    """Return the data without one encoding, and whether there is more; ``more`` says that the data itself is cut."""
    if encoding == "identity" or not data:
        return data, more
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BrokenError(f"the body is encoded as {encoding}; only gzip and deflate are supported")
    raw = encoding == "deflate" and (data[0] & 15 != 8 or int.from_bytes(data[:2], "big") % 31)
    bits = -zlib.MAX_WBITS if raw else 32 + zlib.MAX_WBITS
    unpacked = b""
    try:
        while data and len(unpacked) <= MAX_PAGE:
            decoder = zlib.decompressobj(bits)
            unpacked += decoder.decompress(data, MAX_PAGE + 1 - len(unpacked))
            is_whole = decoder.eof
            # Several members of gzip are one text; anything else after them is ignored, as gzip does.
            data = decoder.unused_data if decoder.unused_data.startswith(b"\x1f\x8b") else b""
    except zlib.error as error:
        raise BrokenError(f"the body is not valid {encoding}: {error}") from None
    if not (is_whole or more or len(unpacked) > MAX_PAGE):
        raise BrokenError("the compressed body ends too early")
    return unpacked[:MAX_PAGE], more or len(unpacked) > MAX_PAGE


def _media_type(response, data):
    """Return the type that the server states, or else the one of the first bytes."""
    said = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if said and said != "application/octet-stream":
        return said
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html|head|body)\b", data[:200], re.IGNORECASE):
        return "text/html"
    return said or "text/plain"


def _is_binary(media_type, data):
    if media_type.startswith(("image/", "audio/", "video/", "font/")):
        return media_type != "image/svg+xml"
    if media_type.startswith("text/") or re.search("json|xml|yaml|javascript", media_type):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:4096])
    except UnicodeDecodeError:
        return True
    return data.startswith(b"%PDF-")


def _text(response, data, more):
    return web_page.decode(data, response.headers.get_content_charset(), more)


def _head(response, data):
    text = _text(response, data[:64_000], more=True)
    if text.lstrip().startswith("<"):
        page = web_page.page_of(text)
        text = f"{page.title()} {page.text()}"
    return " ".join(text.split())[:300]


def _again(response):
    seconds = response.headers.get("Retry-After", "")
    return f" (try again in {seconds} seconds)" if re.fullmatch("[0-9]{1,9}", seconds) else ""
