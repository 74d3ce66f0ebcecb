import select
import threading

import pytest

from toolc.runtime.egress import polling
from toolc.runtime.egress.polling import MAX_THREADS, ResolvedHost, Resolver

SECONDS = 60


def test_each_lookup_has_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("192.0.2.1",)))
    resolver = Resolver()
    hosts = [f"{number}.example" for number in range(MAX_THREADS + 1)]
    for host in hosts:
        resolver.request(host)
    found: list[str] = []
    while len(found) < len(hosts):
        assert select.select([resolver], [], [], SECONDS)[0]
        found += [result.host for result in resolver.results()]
    assert sorted(found) == hosts
    resolver.close()


def test_pending_names_are_not_resolved_after_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    started, proceed, looked_up = threading.Semaphore(0), threading.Event(), []

    def look_up(host: str) -> ResolvedHost:
        looked_up.append(host)
        started.release()
        proceed.wait(SECONDS)
        return ResolvedHost(host)

    monkeypatch.setattr(polling, "look_up", look_up)
    before = set(threading.enumerate())
    resolver = Resolver()
    for number in range(100):
        resolver.request(f"{number}.example")
    for _ in range(MAX_THREADS):
        assert started.acquire(timeout=SECONDS)
    resolver.close()
    proceed.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert len(looked_up) == MAX_THREADS
