"""Real servers on the loopback address, for the tests of URLs: S3, files by ranges, and a line that is cut."""

import contextlib
import http.server
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def s3_server():
    """The address of a server of S3 in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def gs_server(bucket):
    """The address of a server of Google Cloud Storage's protocol, with a bucket, in a process of its own."""
    port = free_port()
    words = ["start", "--host=127.0.0.1", f"--port={port}", "--in-memory", f"--default-bucket={bucket}"]
    command = [sys.executable, "-m", "gcp_storage_emulator", *words]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _wait_for(port):
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)


class FileServer(http.server.ThreadingHTTPServer):
    """Files of a folder, by ranges; `cuts` answers end in the middle, `silent` ones never come."""

    daemon_threads = True

    def __init__(self, folder, *, ranges=True):
        self.folder, self.ranges, self.cuts, self.sent, self.asked = Path(folder), ranges, 0, 0, []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, *, body=True):
        server, path = self.server, self.server.folder / self.path.partition("?")[0].lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        size = path.stat().st_size
        first, last, status = 0, size - 1, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and server.ranges:
            first, last, status = int(asked[1]), min(int(asked[2]), size - 1), 206
        self.send_response(status)
        self.send_header("Content-Length", str(last - first + 1))
        if server.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if not body:
            return
        with open(path, "rb") as file:
            data = os.pread(file.fileno(), last - first + 1, first)
        server.asked.append(len(data))
        if server.cuts and len(data) > 1:
            server.cuts -= 1
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.wfile.write(data)
        server.sent += len(data)


class CuttingLine:
    """A way to a server on which the first `cuts` connections break after so many bytes from the client.

    With `stall` they do not break: nothing more is read from the client.
    """

    def __init__(self, address, cuts, after, stall=False):
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.stall = stall
        self.port, self.cuts, self.after, self.broken = int(port), cuts, after, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self):
        self._listening.close()

    def _serve(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection((self.host, self.port))
            ends = client, server
            threading.Thread(target=self._pass, args=(client, server, ends, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, ends, False), daemon=True).start()

    def _pass(self, source, target, ends, upward):
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                passed += len(data)
                if upward and self.cuts and passed > self.after:
                    self.cuts -= 1
                    self.broken += 1
                    if self.stall:
                        return
                    break
                target.sendall(data)
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def object_store(folder):
    """A store that keeps objects in the files of a folder; what is given makes a bucket, which it deletes again.

    Of this process and its children it becomes the store that S3 means.
    """
    import boto3
    import botocore.config
    import botocore.exceptions

    identity = {"name": "test", "credentials": [{"accessKey": "key", "secretKey": "word"}], "actions": ["Admin"]}
    folder.mkdir()
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    port, *ports = random.sample(range(20000, 30000), 4)  # at 10,000 more it listens too
    words = {"dir": folder, "ip": "127.0.0.1", "s3": "true", "s3.port": port, "s3.config": folder / "s3.json",
             "master.port": ports[0], "volume.port": ports[1], "filer.port": ports[2],
             "s3.port.iceberg": 0, "s3.port.lance": 0, "s3.iam": "false",
             "volume.max": 100, "master.volumeSizeLimitMB": 1024}  # fmt: skip
    weed = Path(sys.executable).parent / "weed"
    command = [weed, f"-logdir={folder}", "server", *(f"-{name}={value}" for name, value in words.items())]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    given = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "word", "DEFAULT_REGION": "us-east-1",
             "ENDPOINT_URL": f"http://127.0.0.1:{port}"}  # fmt: skip
    os.environ.update({f"AWS_{name}": value for name, value in given.items()})
    patience = botocore.config.Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 0})
    client = boto3.client("s3", config=patience)

    @contextlib.contextmanager
    def bucket(name):
        for left in reversed(range(60)):
            try:
                client.create_bucket(Bucket=name)
                break
            except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                if not left:
                    raise
            time.sleep(0.5)
        yield
        client.delete_bucket(Bucket=name)  # with all that is in it

    try:
        yield bucket
    finally:
        server.terminate()
        server.wait()
