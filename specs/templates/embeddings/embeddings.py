"""The tools of embeddings.yaml: ranking by meaning, with vectors of an OpenAI-compatible server.

The facts are those of the built-in tools remember, knowledge_update and forget, in knowledge.sqlite. Their vectors
are in the file vectors.sqlite, which can be deleted at any time.
"""

import hashlib
import json
import math
import os
import struct
from contextlib import contextmanager
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import sqlite_vec
from knowledge import STORE, as_fact, best_first
from store import Store

VECTORS = Store("vectors.sqlite", 0x746C_7665, 1, [
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, digest TEXT NOT NULL, vector BLOB NOT NULL)",
])  # fmt: skip
BATCH = 64
"""How many texts are in one request."""
MAX_NEW = 1_000
"""How many facts get a vector in one call; the others follow with the next one."""
SECONDS = 30
MAX_BYTES = 50_000_000
SMOOTHING = 60
"""The constant of reciprocal rank fusion (Cormack and others, 2009)."""
KINDS = {400: "invalid_args", 401: "authentication", 403: "authentication", 404: "not_found", 429: "rate_limit"}


def semantic_search(query, limit, tags, ctx, topic=None):
    """Return the facts that are nearest to ``query`` by meaning and by words, the best match first."""
    with STORE.reading(ctx) as store:
        if store is None:
            return {"results": []}
        facts = [as_fact(row) for row in store.execute("SELECT * FROM facts ORDER BY id")]
        by_words = [fact["id"] for fact in best_first(store, query)]
    if not facts:
        return {"results": []}
    nearest = by_meaning(facts, query, ctx)
    chosen = {
        fact["id"]: fact for fact in facts
        if {*tags} <= {*fact["tags"]} and (topic is None or fact["topic"] == topic)
    }  # fmt: skip
    scores = fused([number for number in each if number in chosen] for each in (nearest, by_words))
    best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
    return {"results": [{**chosen[number], "score": round(scores[number], 5)} for number in best]}


def rerank_results(query, results, limit, ctx):
    """Return the results of a search, those with the nearest meaning first."""
    if not results:
        return {"results": []}
    texts = [f"{each['title']}. {each.get('description') or ''}" for each in results]
    question, *vectors = (struct.unpack(f"<{len(each) // 4}f", each) for each in embedded([query, *texts], ctx))
    near = [similarity(question, each) for each in vectors]
    order = sorted(range(len(results)), key=lambda index: -near[index])[:limit]
    return {"results": [{**results[index], "score": round(near[index], 5)} for index in order]}


def similarity(first, second):
    """Return the cosine of the angle between two vectors; 0 if the length of one is 0."""
    length = math.hypot(*first) * math.hypot(*second)
    return sum(a * b for a, b in zip(first, second, strict=True)) / length if length else 0.0


def by_meaning(facts, query, ctx):
    """Return the ids of facts, the nearest first. New facts, and those with another text or model, get a vector."""
    digests = {fact["id"]: digest_of(fact["text"]) for fact in facts}
    with vector_store(ctx) as store:
        known = {row["id"]: row["digest"] for row in store.execute("SELECT id, digest FROM vectors")}
        store.executemany("DELETE FROM vectors WHERE id = ?", [(number,) for number in known if number not in digests])
    missing = [fact for fact in facts if known.get(fact["id"]) != digests[fact["id"]]][:MAX_NEW]
    # The server is asked outside of the transaction, so that another call does not wait for it.
    vectors = embedded([query, *(fact["text"] for fact in missing)], ctx)
    with vector_store(ctx) as store:
        rows = [(fact["id"], digests[fact["id"]], vector) for fact, vector in zip(missing, vectors[1:], strict=True)]
        store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        found = store.execute(
            "SELECT id, digest FROM vectors WHERE length(vector) = length(?) "
            "ORDER BY vec_distance_cosine(vector, ?), id",
            (vectors[0], vectors[0]),
        )
        return [row["id"] for row in found if row["digest"] == digests.get(row["id"])]


def fused(rankings):
    """Return scores by reciprocal rank fusion: the sum of 1 / (60 + rank) over the rankings that have an id."""
    scores = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0) + 1 / (SMOOTHING + rank)
    return scores


@contextmanager
def vector_store(ctx):
    with VECTORS.changing(ctx) as store:
        store.enable_load_extension(True)
        sqlite_vec.load(store)
        store.enable_load_extension(False)
        yield store


def digest_of(text):
    """Return a digest of what a vector depends on: the text and the model."""
    return hashlib.sha256(f"{os.environ['EMBEDDINGS_MODEL']}\0{text}".encode()).hexdigest()


def embedded(texts, ctx):
    """Return the vectors of texts, as float32."""
    vectors = []
    for start in range(0, len(texts), BATCH):
        vectors += requested(texts[start : start + BATCH], ctx)
        ctx.progress(100 * len(vectors) / len(texts), "embedding")
    return vectors


def requested(texts, ctx):
    body = json.dumps({"model": os.environ["EMBEDDINGS_MODEL"], "input": texts}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['EMBEDDINGS_API_KEY']}"}
    request = Request(f"{os.environ['EMBEDDINGS_URL']}/embeddings", body, headers)  # noqa: S310  it is part of the spec
    try:
        with urlopen(request, timeout=SECONDS) as response:  # noqa: S310  as above
            data = json.loads(response.read(MAX_BYTES))["data"]
        vectors = [each["embedding"] for each in sorted(data, key=lambda each: each["index"])]
        packed = [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]
    except HTTPError as error:
        words = error.read(500).decode("utf-8", "replace")
        message = f"the embeddings server answered with status {error.code}: {words}"
        raise ctx.error(KINDS.get(error.code, "network"), message) from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise ctx.error("network", f"the embeddings server cannot be reached: {reason}") from None
    except (ValueError, KeyError, TypeError, struct.error):
        raise ctx.error("serialization", "the embeddings server did not answer with vectors") from None
    if len(packed) != len(texts) or len({len(each) for each in packed}) != 1:
        raise ctx.error("serialization", "the embeddings server did not answer with one vector per text")
    return packed
