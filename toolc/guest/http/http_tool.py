"""Run an HTTP tool's call in the worker: send requests through the host, read responses, write the answer."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from resource import RUSAGE_SELF

from toolc.guest import answer, truncate
from toolc.guest.context import Result, ToolError
from toolc.guest.http.body import (
    NOTHING,
    check_length,
    data,
    file_of,
    image_block,
    is_json,
    is_text,
    needed_json,
    text_of,
)
from toolc.guest.http.exchange import Exchange, all_pages
from toolc.guest.http.round_trip import Requests, Response
from toolc.guest.http.shaping import check_size, jmespath_search, render_template, to_json
from toolc.guest.job import HttpJob, Job
from toolc.guest.processes import Pipes, cpu_ms, peak_memory_bytes, write_all


def run(job: Job, message: dict, pipes: Pipes) -> int:  # type: ignore[type-arg]
    """Run the call and write its answer to the reply pipe. Return the exit status for this process."""
    http = HttpJob(message)
    truncate.mark = message["cut_mark"]
    begun = socket.socket(fileno=pipes.request[0]) if job.is_begun else None
    requests = Requests((message["address"][0], message["address"][1]), begun)

    def on_state(metadata: dict[str, object]) -> None:
        os.write(pipes.control[1], json.dumps({"about": metadata}).encode() + b"\n")

    exchange = Exchange(http, requests, time.monotonic() + job.timeout_ms / 1000, on_state)
    reply = run_call(http, exchange)
    # Send the length of the reply first, so that the supervisor sends EXIT together with the reply.
    usage = {"cpu_ms": cpu_ms(RUSAGE_SELF), "peak_memory_bytes": peak_memory_bytes(RUSAGE_SELF)}
    done = {"done": {"reply_bytes": len(reply), **usage}}
    write_all(pipes.control[1], json.dumps(done).encode() + b"\n")
    write_all(pipes.reply[1], reply)
    _wait_for_end(pipes.control[1])
    return 0


def run_call(http: HttpJob, exchange: Exchange) -> bytes:
    """Send the requests and return the call's answer, in the format of ``toolc.guest.answer``."""
    try:
        return answer.success(_result(http, exchange))
    except ToolError as error:
        return _failed(error.kind, str(error), exchange.metadata())
    except MemoryError:
        return _failed("out_of_memory", "the response exceeds the tool's memory; request less data", {})
    except RecursionError:
        return _failed("serialization", "the response is nested too deeply", exchange.metadata())


def _wait_for_end(fd: int) -> None:
    """Wait until ``fd`` has no reader, which means that the sandbox ends.

    If the process exited earlier, releasing its memory would delay the reply that is being forwarded.
    """
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()


def _failed(kind: str, message: str, metadata: dict[str, object]) -> bytes:
    error = {"kind": kind, "message": message, "file": None, "line": None, "traceback": ""}
    return json.dumps({"error": error, "details": metadata}).encode("ascii")


def _result(job: HttpJob, exchange: Exchange) -> Result:
    if job.pagination is not None:
        found, has_more = all_pages(job, exchange)
        return _of_data(job, found, None, {**exchange.metadata(), "truncated": has_more})
    response = exchange.first()
    metadata = exchange.metadata()
    if job.format == "none":
        return Result([] if job.template is None else _rendered(job, "", ""), None, metadata)
    if job.format == "image":
        return _image(job, response, metadata)
    if job.format == "json":
        return _json(job, response, metadata)
    return _by_type(job, response, metadata)


def _image(job: HttpJob, response: Response, metadata: dict[str, object]) -> Result:
    check_length(response)
    image = image_block(response)
    if image is None:
        what = truncate.truncate_end(response.media_type, 100) or "%d bytes without a type" % len(response.body)
        what = what if response.body else "empty"
        raise ToolError("serialization", "the response must be a PNG, JPEG, GIF or WebP image, but it is %s" % what)
    check_size(len(image), job.limit)
    return Result(image, None, metadata)


def _json(job: HttpJob, response: Response, metadata: dict[str, object]) -> Result:
    if not response.body.strip():  # The server has done its work: an error would make a model repeat the call.
        return Result([], None, metadata)
    return _of_data(job, needed_json(response), None, metadata)


def _by_type(job: HttpJob, response: Response, metadata: dict[str, object]) -> Result:
    found = data(response) if is_json(response) or job.select else NOTHING
    if found is not NOTHING:
        return _of_data(job, found, text_of(response), metadata)
    if job.select:
        return _json(job, response, metadata)
    if image_block(response) is not None:
        return _image(job, response, metadata)
    if not response.body:
        return Result([], None, metadata)
    if not is_text(response):
        check_length(response)
        check_size(len(response.body), job.limit)
        return Result(file_of(response, str(metadata["url"]), job.url), None, metadata)
    check_length(response)
    text = text_of(response)
    if job.template is not None:
        return Result(_rendered(job, text, text), None, metadata)
    truncated = truncate.truncate_middle(text, job.limit)
    if truncated is not text:
        metadata["truncated"] = True
    return Result(truncated, None, metadata)


def _of_data(job: HttpJob, found: object, text: str | None, metadata: dict[str, object]) -> Result:
    if job.select is not None:
        found = jmespath_search(job.select, found)
        text = None
    if text is None or job.template is None:
        text = to_json(found)
    check_size(len(text.encode("utf-8", "replace")), job.limit)
    return Result(text if job.template is None else _rendered(job, found, text), [found], metadata)


def _rendered(job: HttpJob, result: object, text: str) -> str:
    return render_template(job.template or "", result, text, job.arguments, job.limit)
