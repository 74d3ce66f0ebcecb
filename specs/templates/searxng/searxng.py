"""The tool of searxng.yaml: a search with the JSON API of a SearXNG server."""

import json
import os
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

MAX_BYTES = 5_000_000
SECONDS = 15
KINDS = {401: "authentication", 403: "denied", 404: "not_found", 429: "rate_limit"}
LANGUAGES = {"jp": "ja", "zh-hans": "zh-CN", "zh-hant": "zh-TW"}
"""The codes of web_search for which SearXNG has another one."""


def searxng_search(query, limit, language, ctx):
    """Return the titles, URLs and descriptions of the first pages."""
    fields = {"q": query, "format": "json", "language": code_of(language), "categories": "general"}
    url = f"{os.environ['SEARXNG_URL']}/search?{urlencode(fields)}"
    try:
        with urlopen(url, timeout=SECONDS) as response:  # noqa: S310  the address is part of the spec
            found = json.loads(response.read(MAX_BYTES))["results"]
    except HTTPError as error:
        hint = "; the server must list json under search.formats in its settings.yml" if error.code == 403 else ""
        message = f"the search server answered with status {error.code}{hint}"
        raise ctx.error(KINDS.get(error.code, "network"), message) from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise ctx.error("network", f"the search server cannot be reached: {reason}") from None
    except (ValueError, KeyError, TypeError):
        raise ctx.error("serialization", "the search server did not answer with JSON results") from None
    return {"results": [result(each) for each in found[:limit]]}


def code_of(language):
    """Return SearXNG's code of a language: the region has capital letters."""
    name, _, region = language.lower().partition("-")
    return LANGUAGES.get(language.lower()) or (f"{name}-{region.upper()}" if region else name)


def result(found):
    return {"title": found.get("title") or "", "url": found.get("url") or "", "description": found.get("content")}
