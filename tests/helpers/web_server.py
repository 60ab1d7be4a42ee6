"""A web server on this machine that serves a folder, counts requests, and may refuse ranges."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Traffic:
    """What clients have asked for since the last `clear`."""

    address: str = ""
    ranges: bool = True
    """Whether parts of files are served; without, always the whole file."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Method and name of the file."""
    bytes: int = 0

    def clear(self) -> None:
        self.requests.clear()
        self.bytes = 0


@contextmanager
def web_server(folder: Path) -> Iterator[Traffic]:
    """Serve the files of a folder; yield the address and what is asked for."""
    traffic, lock = Traffic(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            path = folder / self.path.lstrip("/")
            size = path.stat().st_size if path.is_file() else 0
            start, stop = 0, size
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            partial = wanted is not None and traffic.ranges
            if partial:
                start, stop = int(wanted[1]), min(int(wanted[2] or size) + 1, size)
            with lock:
                traffic.requests.append((self.command, path.name))
                traffic.bytes += stop - start if body else 0
            self.send_response(404 if not path.is_file() else 206 if partial else 200)
            self.send_header("Content-Length", str(stop - start))
            if traffic.ranges:
                self.send_header("Accept-Ranges", "bytes")
            if partial:
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
            self.end_headers()
            if body and path.is_file():
                with path.open("rb") as file:
                    file.seek(start)
                    self.wfile.write(file.read(stop - start))

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    traffic.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield traffic
    finally:
        server.shutdown()
        server.server_close()
