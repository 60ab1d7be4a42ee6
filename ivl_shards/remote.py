"""Remote: files at addresses such as s3://bucket/test.h5, through fsspec.

fsspec is imported when the first address is used, so that local work does not need it.
"""

import io
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ivl_shards.disk import temporary_name
from ivl_shards.errors import Damage, UserError

T = TypeVar("T")

_ADDRESS = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]+)://(?P<path>.*)", re.DOTALL)
# An upload to these appears complete or not at all, and they have no folders to create. On other
# file systems a file is uploaded under a temporary name and then renamed.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "hf"}
RETRIES = (0.5, 2.0, 8.0)
"""Seconds to wait before each new attempt at a request that failed."""
_BLOCK = 1 << 16
_KEPT_BLOCKS = 64


@dataclass(frozen=True, order=True)
class Address:
    """The address of a remote file or folder. It has those properties of a path that are needed.

    >>> shard = Address("s3://bucket/data/test.h5").with_name("test.h5.shards") / "test-00000.h5"
    >>> str(shard), shard.name, shard.stem, shard.suffix, str(shard.parent.parent)
    ('s3://bucket/data/test.h5.shards/test-00000.h5', 'test-00000.h5', 'test-00000', '.h5', \
's3://bucket/data')
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> "Address":
        return Address(f"{self.text.rstrip('/')}/{name}")

    @property
    def protocol(self) -> str:
        """The part before ://."""
        return self.text.partition("://")[0].lower()

    @property
    def name(self) -> str:
        """The part after the last slash."""
        return self.text.partition("://")[2].rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return Path(self.name).suffix

    @property
    def parent(self) -> "Address":
        """The folder."""
        return Address(self.text.removesuffix(self.name).rstrip("/"))

    @property
    def is_in_object_store(self) -> bool:
        """Whether uploads are atomic and there are no real folders."""
        return self.protocol in _OBJECT_STORES

    @property
    def bucket(self) -> "Address":
        """The bucket of an object store."""
        protocol, _, path = self.text.partition("://")
        return Address(f"{protocol}://{path.partition('/')[0]}")

    def with_name(self, name: str) -> "Address":
        """Return the address of another file in the same folder."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> "Address":
        """Return the address with another ending."""
        return self.with_name(self.stem + suffix)


class NoSuchFile(UserError):
    """There is no file at an address."""

    def __init__(self, address: Address) -> None:
        super().__init__(f"{address}: no such file")
        self.address = address


Location = Path | Address
"""Where a file is: on this machine or at an address."""


def as_location(text: Location | str) -> Location:
    """Return the place that a user gave.

    >>> as_location("s3://bucket/test.h5"), as_location("file:///data/test.h5").as_posix()
    (Address(text='s3://bucket/test.h5'), '/data/test.h5')
    """
    match = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    if isinstance(text, Address) or match is None:
        return text if isinstance(text, Address) else Path(text)
    if match["protocol"].lower() in ("file", "local"):
        return Path(match["path"])
    return Address(match[0])


def require_local(location: Location) -> Path:
    """Return a path as it is; raise for an address."""
    if isinstance(location, Address):
        raise UserError(f"{location}: copy it to this machine first: this needs local files")
    return location


# --- requests ----------------------------------------------------------------------------


@cache
def _filesystem_class(protocol: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise UserError("addresses need more packages: pip install 'ivl[remote]'") from None
    try:
        return fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise UserError(f"{protocol}://: fsspec knows no such protocol") from None
    except ImportError as error:
        raise UserError(
            f"{protocol}:// needs more packages: pip install 'ivl[remote]' ({error})"
        ) from None


def filesystem(address: Address) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it.

    Credentials and other settings are taken from the environment, as the libraries below fsspec do.
    """
    fs_class = _filesystem_class(address.protocol)
    with named_errors(address):
        options = fs_class._get_kwargs_from_urls(address.text)
        return fs_class(**options), fs_class._strip_protocol(address.text)


@contextmanager
def named_errors(address: Address) -> Iterator[None]:
    """Turn errors of a remote file system into errors of one line that name the address."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError:
        raise NoSuchFile(address) from None
    except PermissionError as error:
        raise UserError(f"{address}: access denied: {_line(error)}: check credentials") from None
    except Exception as error:  # noqa: BLE001 - each library below fsspec has errors of its own
        raise UserError(f"{address}: not reachable: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def attempt(address: Address, request: Callable[[], T]) -> T:
    """Return the result of a request, which is repeated a few times if it fails."""
    for wait in RETRIES:
        try:
            return request()
        except (FileNotFoundError, PermissionError):
            break  # another attempt would not help
        except Exception as error:  # noqa: BLE001 - each library below fsspec has its own
            if type(error).__name__ == "NoCredentialsError":
                break
            time.sleep(wait)
    with named_errors(address):
        return request()


def bucket_exists(bucket: Address) -> bool:
    """Return whether an object store has a bucket."""
    fs, path = filesystem(bucket)

    def request() -> bool:
        try:
            fs.info(path)
        except FileNotFoundError:
            return False
        return True

    return attempt(bucket, request)


def remote_size(address: Address) -> int | None:
    """Return the size of a file in bytes; None if there is none."""
    fs, path = filesystem(address)

    def request() -> int | None:
        fs.invalidate_cache()
        try:
            found = fs.info(path)
        except FileNotFoundError as error:
            # For a web server, fsspec says this of every error.
            cause = error.__cause__ if address.protocol.startswith("http") else None
            if isinstance(cause, Exception) and getattr(cause, "status", 0) not in (404, 410):
                raise cause from None
            return None
        if found["size"] is None:
            raise UserError(f"{address}: the server does not say how long this file is")
        return None if found["type"] == "directory" else int(found["size"])

    return attempt(address, request)


def remote_names(folder: Address) -> list[str]:
    """Return the names of the files in a folder; [] if there is no such folder."""
    fs, path = filesystem(folder)

    def request() -> list[str]:
        fs.invalidate_cache()
        try:
            found = fs.ls(path, detail=True)
        except FileNotFoundError:
            return []
        files = [entry["name"] for entry in found if entry["type"] == "file"]
        return sorted(name.rpartition("/")[2] for name in files)

    return attempt(folder, request)


def upload(file: Path, address: Address) -> None:
    """Upload a file. It appears under its address complete or not at all."""
    fs, path = filesystem(address)
    if address.is_in_object_store:
        attempt(address, lambda: fs.put_file(str(file), path))
    else:
        temporary = address.with_name(temporary_name(Path(address.name)).name)
        hidden = filesystem(temporary)[1]
        attempt(address, lambda: fs.makedirs(fs._parent(path), exist_ok=True))
        attempt(address, lambda: fs.put_file(str(file), hidden))
        attempt(address, lambda: fs.mv(hidden, path))
    stored, sent = remote_size(address), file.stat().st_size
    if stored != sent:
        raise UserError(f"{address}: {stored or 0:,} of {sent:,} bytes arrived: try again")


def download(address: Address, file: Path) -> None:
    """Copy a remote file to this machine."""
    fs, path = filesystem(address)
    attempt(address, lambda: fs.get_file(path, str(file)))


def remove(address: Address) -> None:
    """Remove a remote file."""
    fs, path = filesystem(address)
    with named_errors(address):
        fs.rm_file(path)


def fetch_ranges(ranges: Sequence[tuple[Address, int, int]]) -> list[bytes]:
    """Return the bytes [start, stop) of several files; the requests run at the same time."""
    fs, _ = filesystem(ranges[0][0])
    paths = [filesystem(address)[1] for address, _, _ in ranges]
    starts, stops = ([place[k] for place in ranges] for k in (1, 2))
    with named_errors(ranges[0][0]):
        found = fs.cat_ranges(paths, starts, stops, on_error="return")
    return [
        data if _is_whole(data, start, stop) else fetch_range(address, start, stop)
        for (address, start, stop), data in zip(ranges, found, strict=True)
    ]


def _is_whole(data: Any, start: int, stop: int) -> bool:
    return isinstance(data, bytes) and len(data) == stop - start


def fetch_range(address: Address, start: int, stop: int) -> bytes:
    """Return the bytes [start, stop) of a file."""
    fs, path = filesystem(address)
    data: bytes = attempt(address, lambda: fs.cat_file(path, start=start, end=stop))
    if len(data) != stop - start:
        raise Damage(
            f"{address}: {len(data):,} instead of {stop - start:,} bytes arrived: the server does "
            "not support ranges, or the file has changed"
        )
    return data


class RemoteFile(io.RawIOBase):
    """A remote file that is read in blocks, of which the last ones are kept."""

    def __init__(self, address: Address, size: int | None = None) -> None:
        self.address = address
        found = remote_size(address) if size is None else size
        if found is None:
            raise NoSuchFile(address)
        self.size = found
        self.error: UserError | None = None
        """The first error of a request. HDF5 reports another one instead, so look here first."""
        self._position = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop) with one request."""
        try:
            return fetch_range(self.address, start, stop)
        except UserError as error:
            self.error = self.error or error
            raise

    def read_range(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop), from blocks that were read before if possible."""
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        missing = [k for k in range(first, last) if k not in self._blocks]
        if missing:
            begin = missing[0] * _BLOCK
            data = self.fetch(begin, min((missing[-1] + 1) * _BLOCK, self.size))
            for k in range(missing[0], missing[-1] + 1):
                self._blocks[k] = data[k * _BLOCK - begin : (k + 1) * _BLOCK - begin]
        joined = b"".join(self._blocks[k] for k in range(first, last))
        while len(self._blocks) > _KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return joined[start - first * _BLOCK : stop - first * _BLOCK]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        stop = max(self._position, min(self._position + len(view), self.size))
        data = self.read_range(self._position, stop)
        view[: len(data)] = data
        self._position = stop
        return len(data)
