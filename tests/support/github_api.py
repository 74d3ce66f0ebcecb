"""A local server with the answers of GitHub's REST API about one pull request.

The objects have the keys of the examples in GitHub's documentation (https://docs.github.com/en/rest, version
2022-11-28) that identify something; lists have pages and the header ``Link``.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "example/tools"
FORK = "ann/tools"
HEAD = "b" * 40
FIRST = "a" * 40
BRANCH = "wider/net"
NUMBERS = {"ann": 1, "bob": 2, "carol": 3, "dave": 4, "web-flow": 19864447, "github-actions[bot]": 41898282}

Json = dict[str, Any]


def user(login: str) -> Json:
    number = NUMBERS[login.lower()]
    kind = "Bot" if login.endswith("[bot]") else "User"
    url = f"https://api.github.com/users/{login}"
    return {"login": login, "id": number, "node_id": f"U_{number}", "url": url, "type": kind, "site_admin": False}


def review(login: str, state: str = "APPROVED", commit: str | None = HEAD, *, day: int = 10, number: int = 80) -> Json:
    return {
        "id": number + day,
        "node_id": "PRR_kwDO",
        "user": user(login),
        "body": "Here is the body for the review.",
        "state": state,
        "html_url": f"https://github.com/{REPOSITORY}/pull/5#pullrequestreview-{number}",
        "pull_request_url": f"https://api.github.com/repos/{REPOSITORY}/pulls/5",
        "author_association": "COLLABORATOR",
        "submitted_at": f"2026-11-{day:02}T09:00:00Z",
        "commit_id": commit,
    }


def commit(
    identity: str = HEAD, author: str | None = "ann", committer: str | None = "ann", message: str = "Allow a host"
) -> Json:
    def signature(login: str | None) -> Json:
        return {"name": login or "Nora", "email": f"{login or 'nora'}@example.com", "date": "2026-11-09T08:00:00Z"}

    return {
        "sha": identity,
        "node_id": "C_kwDO",
        "commit": {
            "author": signature(author),
            "committer": signature(committer),
            "message": message,
            "tree": {"sha": "c" * 40},
            "comment_count": 0,
            "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None},
        },
        "author": user(author) if author else None,
        "committer": user(committer) if committer else None,
        "parents": [{"sha": "d" * 40}],
    }


def push(login: str, after: str = HEAD, kind: str = "push", day: int = 9, branch: str = BRANCH) -> Json:
    return {
        "id": 1296269,
        "node_id": "PSH_kwDO",
        "before": "0" * 40,
        "after": after,
        "ref": f"refs/heads/{branch}",
        "timestamp": f"2026-11-{day:02}T08:30:00Z",
        "activity_type": kind,
        "actor": user(login),
    }


@dataclass
class GitHubApi:
    """Answers for pull request 5, which ann opened from a fork on day 9. ``failures`` maps paths to answers."""

    reviews: list[Json] = field(default_factory=list)
    commits: list[Json] = field(default_factory=lambda: [commit()])
    pushes: list[Json] = field(default_factory=lambda: [push("ann")])
    opener: Json | None = field(default_factory=lambda: user("ann"))
    head: str = HEAD
    fork: Json | None = field(default_factory=lambda: {"id": 7, "full_name": FORK, "fork": True, "private": False})
    count: int | None = None
    failures: dict[str, tuple[int, Mapping[str, str], bytes]] = field(default_factory=dict)
    page_size: int = 100
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def __enter__(self) -> Self:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                api._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def _pull(self) -> Json:
        return {
            "id": 1,
            "number": 5,
            "state": "open",
            "user": self.opener,
            "created_at": "2026-11-09T09:00:00Z",
            "head": {"label": f"ann:{BRANCH}", "ref": BRANCH, "sha": self.head, "user": user("ann"), "repo": self.fork},
            "base": {"label": "example:main", "ref": "main", "sha": "d" * 40},
            "commits": len(self.commits) if self.count is None else self.count,
        }

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}))
        parts = urlsplit(handler.path)
        pull = f"/repos/{REPOSITORY}/pulls/5"
        query = parse_qs(parts.query)
        branch = query.get("ref", [""])[0]
        # As on GitHub, an incomplete name of a branch is completed.
        pushes = [each for each in self.pushes if each["ref"] == branch]
        lists = {f"{pull}/reviews": self.reviews, f"{pull}/commits": self.commits}
        lists |= {f"/repos/{name}/activity": pushes for name in (REPOSITORY, FORK)}
        if parts.path in self.failures:
            self._send(handler, *self.failures[parts.path])
        elif parts.path == pull:
            self._send(handler, 200, {}, json.dumps(self._pull()).encode())
        elif parts.path in lists:
            page, size = int(query.get("page", ["1"])[0]), min(int(query["per_page"][0]), self.page_size)
            found = lists[parts.path]
            rest = parts.query.partition("&page=")[0]
            link = f'<{self.url}{parts.path}?{rest}&page={page + 1}>; rel="next", <{self.url}/x>; rel="last"'
            headers = {"Link": link} if len(found) > page * size else {}
            self._send(handler, 200, headers, json.dumps(found[(page - 1) * size : page * size]).encode())
        else:
            self._send(handler, 404, {}, b'{"message": "Not Found", "status": "404"}')

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
