"""A web server on this machine that lies: about lengths, ranges and types; it redirects, breaks off and stalls."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LIES = ("none", "longer", "shorter", "no-length", "no-range", "wrong-range", "gzip", "type", "loop", "elsewhere",
        "file", "break", "stall", "error", "busy", "forbidden", "garbage", "huge")  # fmt: skip
STALL = 2.0
"""Seconds without a byte; readers give up after one."""


class Liar(BaseHTTPRequestHandler):
    """Handler of ``/LIE/NUMBER/NAME``: the file NAME, with a lie."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """Answer with a body."""
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        lie, _, name = self.path.lstrip("/").partition("/")
        path = self.folder / name.rpartition("/")[2]
        if lie in ("loop", "elsewhere", "file"):
            to = {"loop": self.path, "elsewhere": "http://127.0.0.2:9/x.npy", "file": "file:///etc/passwd"}[lie]
            return self._send(302, b"", body, Location=to)
        if lie in ("error", "busy", "forbidden") or not path.is_file():
            return self._send({"error": 500, "busy": 429, "forbidden": 403}.get(lie, 404), b"no", body)
        data, status, headers = path.read_bytes(), 200, {"Accept-Ranges": "bytes"}
        size = len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and lie != "no-range":
            start, stop = int(wanted[1]), int(wanted[2] or size - 1) + 1
            data, status = data[start:stop], 206
            shift = 7 if lie == "wrong-range" else 0
            headers["Content-Range"] = f"bytes {start + shift}-{stop - 1 + shift}/{size}"
        if lie == "garbage":
            data = bytes(b ^ 0x55 for b in data)
        if lie == "gzip":
            headers["Content-Encoding"] = "gzip"
        headers["Content-Type"] = "text/html" if lie == "type" else "application/octet-stream"
        stated = {"longer": len(data) + 100, "shorter": max(0, len(data) - 5), "huge": 1 << 50}.get(lie, len(data))
        if lie == "stall":
            time.sleep(STALL)
        self._send(status, data[: len(data) // 2] if lie == "break" else data, body,
                   **headers, **({} if lie == "no-length" else {"Content-Length": str(stated)}))  # fmt: skip
        if lie in ("longer", "break", "huge", "no-length", "shorter"):
            self.close_connection = True
        return None

    def _send(self, status: int, data: bytes, body: bool, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content-Length" not in headers and status != 200 and status != 206:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data if body else b"")
        except OSError:
            self.close_connection = True


@contextmanager
def lying_server(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Liar,), {"folder": folder}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
