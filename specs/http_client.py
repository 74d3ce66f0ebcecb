"""The tools of http.yaml: a page as text, and one request."""

import http.client
import re
import socket
import ssl
import urllib.error
import urllib.request
import zlib
from html.parser import HTMLParser

MAX_PAGE = 4 * 1024 * 1024
MAX_BODY = 200_000
ALLOWED = "only public addresses may be reached, by https on port 443"
AGENT = "toolc-http/1"


def http_fetch(url, max_characters, ctx):
    wanted = {"Accept": "text/html, text/*, */*;q=0.5"}
    response, data, more = _send(ctx, _asked(ctx, url, headers=wanted))
    if response.status >= 400:
        kind = {401: "authentication", 403: "authentication", 404: "not_found", 410: "not_found", 429: "rate_limit"}
        found = kind.get(response.status, "network" if response.status >= 500 else "execution")
        raise ctx.error(found, f"HTTP {response.status} {response.reason}: {_head(response, data)}")
    media_type = response.headers.get_content_type()
    title, text = "", _decode(response, data)
    if media_type in ("text/html", "application/xhtml+xml"):
        page = Page()
        page.feed(text)
        page.close()
        title, text = page.title(), page.text()
    elif media_type.startswith(("image/", "audio/", "video/")) or b"\0" in data[:4096]:
        raise ctx.error("serialization", f"the page is {media_type}, which is no text")
    cut = more or len(text) > max_characters
    found = {
        "url": response.url,
        "status": response.status,
        "title": title,
        "content_type": media_type,
        "body": text[:max_characters],
        "truncated": cut,
    }
    shown = (f"# {title}\n\n" if title else "") + found["body"] + ("\n[the rest is left out]" if cut else "")
    return ctx.result(shown, structured=found)


def http_request(url, method, headers, ctx, body=None):
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n\0]", value):
            raise ctx.error("invalid_args", f"{name!r} is no header of a request, or its value not that of one")
    data = None if body is None else body.encode()
    if data is not None and not any(name.lower() == "content-type" for name in headers):
        is_json = body[:1] in {"{", "["}
        headers = {**headers, "Content-Type": "application/json" if is_json else "text/plain; charset=utf-8"}
    response, data, more = _send(ctx, _asked(ctx, url, data=data, headers=headers, method=method))
    text = _decode(response, data)
    found = {name.lower(): value for name, value in response.headers.items()}
    cut = more or len(text) > MAX_BODY
    return {"status": response.status, "headers": found, "body": text[:MAX_BODY], "truncated": cut}


class _Every(urllib.request.HTTPErrorProcessor):
    """Leaves it to the tool what a status means; redirects are followed, and ``url`` is where the last one led."""

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


def _asked(ctx, url, **parts):
    """A request for a URL that is one."""
    try:
        request = urllib.request.Request(url, **parts)  # noqa: S310  what it begins with is looked at below
    except ValueError as error:
        raise ctx.error("invalid_args", f"{url[:200]!r} is no URL: {error}") from None
    if request.type not in ("http", "https") or not request.host:
        raise ctx.error("invalid_args", f"{url[:200]!r} is not a URL that begins with https://")
    return request


def _send(ctx, request):
    """The response, what of its body was read, and whether there is more."""
    if not request.has_header("User-agent"):
        request.add_header("User-agent", AGENT)
    request.add_header("Accept-encoding", "gzip, deflate")
    every = _Every()
    try:
        response = urllib.request.build_opener(every).open(request)
        data = response.read(MAX_PAGE + 1)
        data = _unpacked(response.headers.get("Content-Encoding", "").strip().lower(), data)
    except urllib.error.HTTPError as error:
        raise ctx.error("network", f"{error.reason} ({error.url})") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(ctx, every.url or request.full_url, error) from None
    if every.url.startswith("http:") and data.startswith(b"toolc: "):
        reason = data[:500].decode("utf-8", "replace").removeprefix("toolc: ").strip()
        raise _refused(ctx, _host(every.url), response.status, reason)
    return response, data[:MAX_PAGE], len(data) > MAX_PAGE


def _failed(ctx, url, error):
    reason = getattr(error, "reason", error)
    words, host = str(reason) or type(reason).__name__, _host(url)
    if refusal := re.fullmatch(r"Tunnel connection failed: ([0-9]+) [^:]*: (.*)", words):
        return _refused(ctx, host, int(refusal[1]), refusal[2])
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return ctx.error("invalid_args", f"{url[:200]!r} is no URL: {words}")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ctx.error("network", f"the certificate of {host} is not trusted: {reason.verify_message}")
    if isinstance(reason, socket.gaierror):
        return ctx.error("denied", f"no connection to {host}: {ALLOWED}")
    return ctx.error("network", f"no response from {host}: {words}")


def _refused(ctx, host, status, reason):
    """The error for what the sandbox's proxy answered in the server's place."""
    kind = {403: "denied", 504: "timeout"}.get(status, "network")
    hint = f" ({ALLOWED})" if kind == "denied" else ""
    return ctx.error(kind, f"no connection to {host}: {reason}{hint}")


def _host(url):
    """The host of a URL, and the port where one is written; urllib's own ``host`` is that of the proxy."""
    return re.sub(r"^[^/]*//(?:[^/?#]*@)?([^/?#]*).*", r"\1", url, flags=re.DOTALL)[:300]


def _unpacked(encoding, data):
    if encoding == "gzip":
        decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    elif encoding == "deflate":
        decoder = zlib.decompressobj(zlib.MAX_WBITS if data[:1] == b"x" else -zlib.MAX_WBITS)
    else:
        return data
    try:
        return decoder.decompress(data, MAX_PAGE + 1)
    except zlib.error as error:
        raise OSError(f"the body says that it is {encoding}, and is not ({error})") from None


def _decode(response, data):
    try:
        return data.decode(response.headers.get_content_charset() or "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _head(response, data):
    text = _decode(response, data[:64_000])
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())[:300]


class Page(HTMLParser):
    """The words of a page, in lines as its blocks are."""

    SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "head"})
    BLOCKS = frozenset(
        {
            "address", "article", "aside", "blockquote", "body", "br", "dd", "details", "div", "dl", "dt",
            "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
            "hr", "html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td",
            "tfoot", "th", "thead", "tr", "ul",
        }
    )  # fmt: skip

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self._pieces = []
        self._title = []
        self._silent = []
        self._in_title = False
        self._pre = 0

    def handle_starttag(self, tag, attrs):
        if tag == "title":
            self._in_title = not self._title
        elif tag in self.SILENT:
            self._silent.append(tag)
        elif not self._silent:
            self._break(tag)
            self._pre += tag == "pre"

    def handle_endtag(self, tag):
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif not self._silent:
            self._break(tag)
            self._pre = max(0, self._pre - (tag == "pre"))
        if tag == "head":
            self._silent.clear()

    def handle_data(self, data):
        if self._in_title:
            self._title.append(data)
        elif not self._silent:
            self._pieces.append(data if self._pre else re.sub(r"\s+", " ", data))

    def title(self):
        return " ".join("".join(self._title).split())

    def text(self):
        lines = [re.sub(r"[ \t]+$", "", line) for line in "".join(self._pieces).split("\n")]
        lines = [line[1:] if line.startswith(" ") and not line.startswith("  ") else line for line in lines]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _break(self, tag):
        if tag == "body":
            self._silent.clear()
        if tag in self.BLOCKS:
            self._pieces.append("\n" if tag in ("br", "tr", "td", "th", "li", "dt", "dd") else "\n\n")
        if tag == "li":
            self._pieces.append("- ")
