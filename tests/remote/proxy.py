"""A proxy on the loopback interface that counts requests and lets some of them fail.

The rule: it forwards bytes as they are; a fault is planted before or after the real
call. `seen` holds every request in the order of arrival, `spans` when each was here. A
service that lacks something is made by what is left out of requests, and said for them.
"""

import http.client
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DROP, DELAY, TWICE, HALF = "drop", "delay", "twice", "half"


class Proxy:
    """Stands before a server; `plan` says what happens to the nth request.

    `plan` takes the number of the request (from 0) and returns None, or what happens
    (`DROP`, `DELAY`, `TWICE`, `HALF` of the body, or a status) and whether the real
    call is made first.
    """

    def __init__(self, upstream):
        self.upstream = upstream.removeprefix("http://")
        self.plan = lambda number: None
        self.left_out = ()
        """Headers that the service is not told of."""
        self.amend = lambda asked, answer: answer
        """What a client is told in place of an answer (status, headers, body)."""
        self.body = b""
        """Of the request that is planned for."""
        self.seen = []
        self.spans = []
        self.faults = 0
        self.lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Say nothing."""

            def handle_any(self):
                # a killed client is what some tests are about
                with suppress(ConnectionError):
                    proxy.handle(self)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_any  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        # the end of it is looked for so often
        serve = threading.Thread(
            target=self.server.serve_forever, args=(0.02,), daemon=True
        )
        serve.start()

    def close(self):
        """End it."""
        self.server.shutdown()
        self.server.server_close()

    def handle(self, asked):
        """Forward one request, or do to it what was planned."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        for name in self.left_out:
            del asked.headers[name]
        with self.lock:
            number, self.body = len(self.seen), body
            self.seen.append((asked.command, asked.path))
            self.spans.append([time.monotonic(), None])
            fault = self.plan(number)
            self.faults += fault is not None
        answer = self.done(asked, body, *(fault or (None, True)))
        if answer is None:
            asked.close_connection = True
            return
        status, headers, data = self.amend(asked, answer)
        asked.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding"):
                asked.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            asked.send_header("Content-Length", str(len(data)))
        self.spans[number][1] = time.monotonic()
        asked.end_headers()
        asked.wfile.write(data)

    def done(self, asked, body, what, after):
        """Do to a request what was planned; return the answer, or None for none."""
        if what == HALF:
            return self.send_half(asked, body)
        answer = self.forward(asked, body) if after else None
        if what == TWICE:
            answer = self.forward(asked, body)
        if what == DELAY:
            time.sleep(0.05)
            answer = answer or self.forward(asked, body)
        if what == DROP:
            return None
        return (what, [], b"") if isinstance(what, int) else answer

    def round_trips(self, since):
        """Return how many requests since then came one after the other."""
        count, until = 0, 0.0
        for begun, ended in self.spans[since:]:
            if begun >= until:
                count, until = count + 1, ended
            else:
                until = max(until, ended)
        return count

    def send_half(self, asked, body):
        """Begin the real call, and go in the middle of it."""
        host, _, port = self.upstream.partition(":")
        words = [f"{asked.command} {asked.path} HTTP/1.1"]
        words += [f"{name}: {value}" for name, value in asked.headers.items()]
        with socket.create_connection((host, int(port)), timeout=30) as real:
            real.sendall(
                "\r\n".join([*words, "", ""]).encode() + body[: len(body) // 2]
            )
            real.shutdown(socket.SHUT_WR)
            # until it has understood that no more comes
            with suppress(OSError):
                real.recv(1)

    def forward(self, asked, body):
        """Make the real call; return status, headers and body."""
        real = http.client.HTTPConnection(self.upstream, timeout=30)
        real.request(asked.command, asked.path, body, dict(asked.headers))
        got = real.getresponse()
        found = (got.status, got.getheaders(), got.read())
        real.close()
        return found
