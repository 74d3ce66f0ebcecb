"""Names are looked up beside a call, a few at once, and none after its end."""

from __future__ import annotations

import select
import threading

import pytest

from toolc.runtime.egress import polling
from toolc.runtime.egress.polling import MAX_THREADS, Names, ResolvedHost

SECONDS = 60


def test_answers_are_announced_and_each_question_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("192.0.2.1",)))
    names = Names()
    asked = [f"{number}.example" for number in range(MAX_THREADS + 1)]
    for host in asked:
        names.ask(host)
    found: list[str] = []
    while len(found) < len(asked):
        assert select.select([names], [], [], SECONDS)[0]
        found += [answer.host for answer in names.answers()]
    assert sorted(found) == asked
    names.close()


def test_what_waits_when_the_call_ends_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on, looked_up = threading.Semaphore(0), threading.Event(), []

    def look_up(host: str) -> ResolvedHost:
        looked_up.append(host)
        began.release()
        go_on.wait(SECONDS)
        return ResolvedHost(host)

    monkeypatch.setattr(polling, "look_up", look_up)
    before = set(threading.enumerate())
    names = Names()
    for number in range(100):
        names.ask(f"{number}.example")
    for _ in range(MAX_THREADS):
        assert began.acquire(timeout=SECONDS)
    names.close()
    go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS)
    assert len(looked_up) == MAX_THREADS
