"""Secrets and redirects of files behind real servers; `make reach` installs what this needs."""

import contextlib
import gzip
import http.server
import threading

import numpy as np
import pytest

from pecli.cli.run import run
from pecli.errors import BadFile
from pecli.formats import open_table
from tests.support.servers import FileServer

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make reach installs it")
pytest.importorskip("fsspec", reason="fsspec is not installed: make reach installs it")

SECRET = "hu'sh"


@contextlib.contextmanager
def served(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "pe.npy", np.arange(8, dtype=np.float32).reshape(2, 4))
    server = FileServer(tmp_path)
    yield server
    server.close()


def sending_on(to):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", to + self.path)
            self.end_headers()

        def do_HEAD(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    return Handler


def test_a_redirect_to_another_host_is_refused(files):
    """127.0.0.1 and localhost are two names, as a bucket's and an attacker's are."""
    said = r"redirects to http://localhost, and pecli follows no redirect to another host"
    handler = sending_on(files.url.replace("127.0.0.1", "localhost"))
    with served(handler) as url, pytest.raises(BadFile, match=said):
        open_table(f"{url}/pe.npy")
    assert not files.asked


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("file:///etc/hostname?", "redirects to file:, and"),
        ("data:text/plain,", "redirects to data:, and"),
        ("ftp://127.0.0.1", "redirects to ftp://127.0.0.1, and"),
        ("/again", "sends on without end"),
        ("http://[", "sends on without end, or to no address"),
    ],
)
def test_a_redirect_to_no_file_of_the_host_is_refused_at_once(to, said, recwarn, capfd):
    with served(sending_on(to)) as url:
        assert run(["inspect", f"{url}/pe.npy"]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert "trying again" not in error


def test_a_redirect_on_the_same_host_is_followed(files):
    with served(sending_on(files.url)) as url, open_table(f"{url}/pe.npy") as table:
        assert table.arrays[0].shape == (2, 4)


def test_a_compressed_answer_is_not_inflated(tmp_path):
    """A server may answer a range with what inflates to gigabytes."""
    data = gzip.compress(bytes(64 << 20))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(206)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", "bytes 0-99/100000")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", "100000")
            self.end_headers()

        def log_message(self, *_):
            pass

    with served(Handler) as url, pytest.raises(BadFile) as error:
        open_table(f"{url}/pe.npy")
    assert "ranges" in str(error.value) or "truncated" in str(error.value)


@pytest.mark.parametrize("name", ["pe.npy", "no.npy"])
@pytest.mark.parametrize("more", [[], ["--json"], ["--plot", "-"], ["--debug"]])
def test_no_secret_of_a_url_is_printed(files, name, more, capfd):
    for url in (
        f"http://me:{SECRET}@127.0.0.1:{files.server_port}/{name}",
        f"{files.url}/{name}?s={SECRET} {SECRET}#{SECRET}",
    ):
        run(["inspect", url, *more])
        out, err = capfd.readouterr()
        assert "hu" not in out + err.replace("threads", ""), out + err
        assert name in out + err


def test_pictures_and_pages_of_a_url_have_no_secret(files, tmp_path):
    url = f"{files.url}/pe.npy?s={SECRET} hush"
    for name in ("x.svg", "x.html"):
        assert run(["inspect", url, "--plot", str(tmp_path / name)]) == 0
        made = (tmp_path / name).read_text()
        assert "pe.npy?..." in made
        assert SECRET not in made
        assert "hush" not in made
