"""Sealed HDF5 files that are wrong in one way each: what a hostile or careless maker could write.

`KINDS` maps a name to a base dataset and a function that changes its file in place; the seal is
made anew afterwards, so only checks of the content can notice.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
from zlib_ng import zlib_ng

from ivl_shards.format.seal import SEAL_BYTES, write_seal

Change = Callable[[Any, Path], None]
"""An open `h5py.File`, and the path of a file outside the dataset that must not be opened."""


@dataclass(frozen=True)
class Kind:
    """One way to be wrong."""

    base: str
    change: Change


def craft(path: Path, kind: Kind, secret: Path) -> None:
    """Change a sealed file and seal it again."""
    with h5py.File(path, "r+") as file:
        kind.change(file, secret)
    reseal(path)


def flip(path: Path, seed: int) -> None:
    """Change a few bytes of the HDF5 behind the seal, and seal it again."""
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    # Most of a file is pixels; what matters more stands at its beginning and end.
    parts = [(SEAL_BYTES, 4096), (SEAL_BYTES, len(data)), (len(data) - 4096, len(data))]
    low, high = parts[seed % len(parts)]
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(max(SEAL_BYTES, low), min(high, len(data))))
        data[place] = rng.choice([data[place] ^ (1 << rng.integers(8)), 0, 255, rng.integers(256)])
    if seed % 7 == 0:
        del data[int(rng.integers(SEAL_BYTES + 1, len(data))) :]
    path.write_bytes(data)
    reseal(path)


def reseal(path: Path) -> None:
    """Give a changed file a seal that fits."""
    with path.open("r+b", buffering=0) as file:
        write_seal(file)


# --- ways to be wrong --------------------------------------------------------------------


def drop_attribute(name: str) -> Change:
    return lambda file, secret: file.attrs.pop(name, None)


def set_attribute(name: str, value: Any) -> Change:
    def change(file: Any, secret: Path) -> None:
        file.attrs[name] = value

    return change


def set_field_attribute(field: str, name: str, value: Any) -> Change:
    def change(file: Any, secret: Path) -> None:
        file[field].attrs[name] = value

    return change


def drop_field(name: str) -> Change:
    return lambda file, secret: file.__delitem__(name)


def replace_field(name: str, make: Callable[[Any, str, Path], None]) -> Change:
    """Put something else under the name of a field, with its attributes where it has any."""

    def change(file: Any, secret: Path) -> None:
        kept = dict(file[name].attrs)
        file.move(name, "aside")
        make(file, name, secret)
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            return
        if isinstance(file[name], h5py.Dataset):
            file[name].attrs.update(kept)
            del file["aside"]

    return change


def set_values(name: str, value: Any) -> Change:
    def change(file: Any, secret: Path) -> None:
        file[name][...] = value

    return change


def set_jpeg(data: bytes) -> Change:
    def change(file: Any, secret: Path) -> None:
        for i in range(len(file["image"])):
            file["image"][i] = np.frombuffer(data, np.uint8)

    return change


def _external_link(file: Any, name: str, secret: Path) -> None:
    file[name] = h5py.ExternalLink(str(secret), "image")


def _external_link_up(file: Any, name: str, secret: Path) -> None:
    file[name] = h5py.ExternalLink(f"../{secret.parent.name}/{secret.name}", "image")


def _soft_link(file: Any, name: str, secret: Path) -> None:
    file[name] = h5py.SoftLink("/nowhere")


def _soft_loop(file: Any, name: str, secret: Path) -> None:
    file[name] = h5py.SoftLink(f"/{name}")


def _group(file: Any, name: str, secret: Path) -> None:
    file.create_group(name)["inside"] = np.zeros(3)


def _root(file: Any, name: str, secret: Path) -> None:
    file[name] = file["/"]


def _named_type(file: Any, name: str, secret: Path) -> None:
    file[name] = np.dtype("f4")


def _external_storage(file: Any, name: str, secret: Path) -> None:
    old = file["aside"]
    size = int(np.prod(old.shape)) * old.dtype.itemsize
    file.create_dataset(name, old.shape, old.dtype, external=[(str(secret), 0, size)])


def _virtual(source: Callable[[Path], str]) -> Callable[[Any, str, Path], None]:
    def make(file: Any, name: str, secret: Path) -> None:
        old = file["aside"]
        layout = h5py.VirtualLayout(old.shape, old.dtype)
        layout[...] = h5py.VirtualSource(source(secret), "image", old.shape, old.dtype)
        file.create_virtual_dataset(name, layout)

    return make


def _unlimited_virtual(file: Any, name: str, secret: Path) -> None:
    """HDF5 opens the sources of these to find out how long they are."""
    old = file["aside"]
    source = h5py.VirtualSource(str(secret), "image", old.shape, old.dtype, (None, *old.shape[1:]))
    layout = h5py.VirtualLayout(old.shape, old.dtype, (None, *old.shape[1:]))
    layout[0 : h5py.h5s.UNLIMITED] = source[0 : h5py.h5s.UNLIMITED]
    file.create_virtual_dataset(name, layout)


def _stored(shape: tuple[int, ...] | None, dtype: Any, **options: Any) -> Any:
    def make(file: Any, name: str, secret: Path) -> None:
        old = file["aside"]
        file.create_dataset(name, old.shape if shape is None else shape, dtype, **options)

    return make


def _rows(n: int) -> Callable[[Any, str, Path], None]:
    def make(file: Any, name: str, secret: Path) -> None:
        old = file["aside"]
        file.create_dataset(name, (n, *old.shape[1:]), old.dtype)

    return make


def _wide(*sides: int) -> Callable[[Any, str, Path], None]:
    """A shape that the file does not hold: nothing is written to its chunks."""

    def make(file: Any, name: str, secret: Path) -> None:
        old = file["aside"]
        shape = (len(old), *sides)
        file.create_dataset(
            name, shape, old.dtype, chunks=(1, *(min(n, 1000) for n in sides)), compression="gzip"
        )

    return make


def _bomb(chunk_rows: int, megabytes: int) -> Callable[[Any, str, Path], None]:
    """Chunks that unpack to far more than they should."""

    def make(file: Any, name: str, secret: Path) -> None:
        old = file["aside"]
        chunks = (chunk_rows, *old.shape[1:])
        new = file.create_dataset(name, old.shape, old.dtype, chunks=chunks, compression="gzip")
        packing = zlib_ng.compressobj(9)
        zeros = bytes(1 << 20)
        data = b"".join(packing.compress(zeros) for _ in range(megabytes)) + packing.flush()
        rest = (0,) * (new.ndim - 1)
        for start in range(0, len(new), chunk_rows):
            new.id.write_direct_chunk((start, *rest), data)

    return make


def _foreign_filter(file: Any, name: str, secret: Path) -> None:
    old = file["aside"]
    created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    created.set_chunk((1, *old.shape[1:]))
    created.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple(old.shape)
    h5py.h5d.create(file.id, name.encode(), old.id.get_type(), space, created)


def _shards(rows: Any) -> Change:
    return set_attribute("shards", rows if isinstance(rows, str) else json.dumps(rows))


def _jpeg(height: int, width: int) -> bytes:
    return bytes(cv2.imencode(".jpg", np.zeros((height, width, 3), np.uint8))[1])


def _claiming(height: int, width: int) -> bytes:
    """A JPEG whose head says that it is larger."""
    data = bytearray(_jpeg(16, 40))
    place = data.index(b"\xff\xc0")
    data[place + 5 : place + 9] = height.to_bytes(2) + width.to_bytes(2)
    return bytes(data)


_DEEP = "[" * 100_000 + "]" * 100_000
_ODD_VALUES: dict[str, Any] = {
    "int": 3,
    "negative": -1,
    "huge": 2**62,
    "float": 0.5,
    "nan": float("nan"),
    "text": "x",
    "empty-text": "",
    "json-list": "[1, 2]",
    "json-null": "null",
    "json-deep": _DEEP,
    "json-broken": '{"a": ',
    "json-numbers": '{"total": 1e999, "counts": NaN}',
    "array": np.arange(5),
    "bytes": np.bytes_(b"\xff\xfe"),
    "not-utf8": h5py.Empty("S1"),
    "html": "<!--<script>alert(1)</script>",
    "escape": "\x1b[31mred\x1b]0;title\x07",
}
_ATTRIBUTES = (
    "format",
    "format_version",
    "task",
    "generator",
    "generator_version",
    "recipe",
    "split",
    "seed",
    "licence",
    "memory",
    "sequence",
    "samples",
    "content_sha256",
    "first_sample",
    "title",
    "description",
    "command",
    "origins",
    "limits",
    "responsible_use",
    "versions",
)
_ODD_FIELDS: dict[str, Callable[[Any, str, Path], None]] = {
    "external-link": _external_link,
    "external-link-up": _external_link_up,
    "soft-link": _soft_link,
    "soft-loop": _soft_loop,
    "group": _group,
    "root": _root,
    "named-type": _named_type,
    "virtual": _virtual(str),
    "virtual-up": _virtual(lambda secret: f"../{secret.parent.name}/{secret.name}"),
    "virtual-self": _virtual(lambda secret: "."),
    "virtual-unlimited": _unlimited_virtual,
    "float-type": _stored(None, "f8"),
    "text-type": _stored(None, h5py.string_dtype()),
    "compound-type": _stored(None, np.dtype([("a", "i4"), ("b", "f4")])),
    "reference-type": _stored(None, h5py.ref_dtype),
    "enum-type": _stored(None, h5py.enum_dtype({"a": 0}, "i1")),
    "no-rows": _rows(0),
    "fewer-rows": _rows(1),
    "more-rows": _rows(1000),
    "scalar": _stored((), "u1"),
    "foreign-filter": _foreign_filter,
}


def _kinds() -> Iterator[tuple[str, Kind]]:
    for name in _ATTRIBUTES:
        yield f"attribute {name} missing", Kind("coloured", drop_attribute(name))
        for odd, value in _ODD_VALUES.items():
            yield f"attribute {name} {odd}", Kind("coloured", set_attribute(name, value))
    for base, fields in (
        ("coloured", ("image", "centres", "sigma", "object_count", "digest", "kind", "box")),
        ("toy", ("image", "image_size", "steps", "line_count", "label", "line_box")),
        ("photos", ("image", "image_size", "text")),
    ):
        for field in fields:
            yield f"{base} {field} missing", Kind(base, drop_field(field))
            for odd, make in _ODD_FIELDS.items():
                yield f"{base} {field} {odd}", Kind(base, replace_field(field, make))
            for odd, value in _ODD_VALUES.items():
                for name in ("counted_by", "classes", "unit"):
                    change = set_field_attribute(field, name, value)
                    yield f"{base} {field} {name} {odd}", Kind(base, change)
    for field in ("image", "centres", "sigma", "object_count", "kind"):
        change = replace_field(field, _external_storage)
        if field != "image":
            yield f"coloured {field} external storage", Kind("coloured", change)
    yield "image in external storage", Kind("coloured", replace_field("image", _external_storage))
    yield from _odd_numbers()
    yield from _odd_sizes()
    yield from _odd_images()
    yield from _odd_shards()
    yield from _harmless()


def _odd_numbers() -> Iterator[tuple[str, Kind]]:
    for number in (-1, 11, 2**31 - 1, -(2**31)):
        yield f"object_count {number}", Kind("coloured", set_values("object_count", number))
        yield f"line_count {number}", Kind("toy", set_values("line_count", number))
        yield f"image_size {number}", Kind("toy", set_values("image_size", number))
        yield f"photo size {number}", Kind("photos", set_values("image_size", number))
    for number in (np.nan, np.inf, -np.inf, 1e38, -1e38):
        for field in ("centres", "sigma", "box"):
            yield f"{field} {number}", Kind("coloured", set_values(field, number))
    for number in (0.0, -1.0, 1e-30):
        yield f"sigma {number}", Kind("coloured", set_values("sigma", number))
    for number in (7, 255):
        yield f"kind {number}", Kind("coloured", set_values("kind", number))
        yield f"label {number}", Kind("toy", set_values("label", number))
        yield f"steps {number}", Kind("toy", set_values("steps", number))
    yield "digest zero", Kind("coloured", set_values("digest", 0))
    yield "text not utf-8", Kind("photos", set_values("text", b"\xff\xfe\x00\x1b["))
    yield "memory zero", Kind("dense", set_values("memory", 0))
    yield "memory nan", Kind("dense", set_values("memory", np.nan))
    yield "memory missing", Kind("dense", drop_field("memory"))


def _odd_sizes() -> Iterator[tuple[str, Kind]]:
    for sides in ((100_000, 100_000, 3), (30_000, 30_000, 3), (2**31, 2), (1, 1, 3), (8, 8, 4)):
        yield f"image of {sides}", Kind("coloured", replace_field("image", _wide(*sides)))
    yield "step map huge", Kind("toy", replace_field("steps", _wide(60_000, 60_000)))
    yield "memory huge", Kind("dense", replace_field("memory", _wide(60_000, 1000, 1000)))
    yield "memory small", Kind("dense", replace_field("memory", _wide(1, 2, 3)))
    for megabytes in (8, 2000):
        bomb = replace_field("image", _bomb(1, megabytes))
        yield f"zlib bomb of {megabytes} MB", Kind("coloured", bomb)
        together = replace_field("image", _bomb(2, megabytes))
        yield f"zlib bomb of {megabytes} MB, two samples a chunk", Kind("coloured", together)
        counts = replace_field("object_count", _bomb(4, megabytes))
        yield f"zlib bomb of {megabytes} MB for counts", Kind("coloured", counts)
    for samples in (0, -1, 7, 2**40, 2**62):
        yield f"samples {samples}", Kind("coloured", set_attribute("samples", samples))


def _odd_images() -> Iterator[tuple[str, Kind]]:
    whole = _jpeg(16, 40)
    for name, data in {
        "empty": b"",
        "one byte": b"\xff",
        "cut": whole[: len(whole) // 2],
        "head only": whole[:20],
        "other size": _jpeg(8, 8),
        "claims 30,000 squared": _claiming(30_000, 30_000),
        "claims 65,535 squared": _claiming(65_535, 65_535),
        "claims nothing": _claiming(0, 0),
        "really large": _jpeg(9000, 9000),
        "png": bytes(cv2.imencode(".png", np.zeros((16, 40), np.uint8))[1]),
        "tiff": bytes(cv2.imencode(".tiff", np.zeros((16, 40), np.uint8))[1]),
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 16\n",
        "markers without end": b"\xff\xd8" + b"\xff" * 100_000,
        "short segments": b"\xff\xd8" + b"\xff\xe0\x00\x00" * 1000,
    }.items():
        yield f"jpeg {name}", Kind("photos", set_jpeg(data))


def _odd_shards() -> Iterator[tuple[str, Kind]]:
    def listing(file: str, samples: Any = 6) -> list[Any]:
        return [{"file": file, "samples": samples}, {"file": "b.h5", "samples": 6}]

    for name, rows in {
        "absolute": listing("/etc/passwd"),
        "up": listing("../secret/secret.h5"),
        "inner up": listing("a/../../secret/secret.h5"),
        "windows": listing("c:\\secret.h5"),
        "nul": listing("a\0b"),
        "empty name": listing(""),
        "itself": [{"file": "data.h5", "samples": 12}],
        "missing": listing("a.h5"),
        "huge": [{"file": "a.h5", "samples": 2**60}],
        "negative": listing("a.h5", -6),
        "text for samples": listing("a.h5", "6"),
        "float for samples": listing("a.h5", 6.0),
        "no list": {"file": "a.h5"},
        "numbers": [1, 2, 3],
        "none": [],
        "broken": '[{"file": ',
        "deep": _DEEP,
        "number for file": [{"file": 3, "samples": 12}],
        "folder": listing("."),
    }.items():
        yield f"shards {name}", Kind("index", _shards(rows))
        yield f"shards {name} in one file", Kind("coloured", _shards(rows))
    yield "index without shards", Kind("index", drop_attribute("shards"))
    for odd in ("virtual", "virtual-up", "virtual-unlimited", "external-link", "float-type"):
        for field in ("image", "object_count"):
            change = replace_field(field, _ODD_FIELDS[odd])
            yield f"index {field} {odd}", Kind("index", change)
    yield "index field missing", Kind("index", drop_field("box"))
    yield (
        "index field more",
        Kind("index", lambda file, secret: file.create_dataset("more", (12,), "f4")),
    )
    yield "shards huge in all", Kind("index", _huge_index)


def _one_field_more(file: Any, secret: Path) -> None:
    file.create_dataset("more", (12,), "f4")


def _huge_index(file: Any, secret: Path) -> None:
    """An index over shards that are not there, of more samples than any memory holds."""
    file.attrs["shards"] = json.dumps([{"file": f"{k}.h5", "samples": 2**44} for k in range(16)])
    file.attrs["samples"] = 2**48
    for name in list(file):
        kept, old = dict(file[name].attrs), file[name]
        shape, dtype = (2**48, *old.shape[1:]), old.dtype
        del file[name]
        layout = h5py.VirtualLayout(shape, dtype)
        layout[...] = h5py.VirtualSource("0.h5", name, shape, dtype)
        file.create_virtual_dataset(name, layout).attrs.update(kept)


def _harmless() -> Iterator[tuple[str, Kind]]:
    """What a later minor version may add: such a file must be read."""
    origins = [{"what": "a", "where": "b", "licence": "c", "colour": "new"}]
    yield "newer origins", Kind("coloured", set_attribute("origins", json.dumps(origins)))
    newer = json.dumps({"synthetic": True, "mood": "new"})
    yield "newer responsible use", Kind("coloured", set_attribute("responsible_use", newer))
    yield "newer attribute", Kind("coloured", set_attribute("mood", np.arange(3)))
    yield "newer versions", Kind("coloured", set_attribute("versions", '{"ivl": 2}'))


KINDS: dict[str, Kind] = dict(_kinds())
ACCEPTED = {name for name, _ in _harmless()}
