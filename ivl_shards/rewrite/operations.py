"""Operations: copy samples of existing datasets to new ones."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ivl_shards.errors import Damage, UserError
from ivl_shards.format.copying import Rows, file_schema
from ivl_shards.format.reader import Dataset, open_dataset
from ivl_shards.format.schema import Array
from ivl_shards.format.seal import check_bytes
from ivl_shards.generation.engine import Made, WriteOptions, write_dataset
from ivl_shards.generation.layout import shard_folder
from ivl_shards.generation.recipe import check_split, require
from ivl_shards.generation.stores import store_of
from ivl_shards.remote import as_location, require_local
from ivl_shards.rewrite.compatibility import merged_schema
from ivl_shards.rewrite.copied import Copied
from ivl_shards.rewrite.lineage import (
    Operation,
    derived,
    joined_split,
    unchanged,
)
from ivl_shards.rewrite.selection import (
    check_seed,
    parse_rows,
    random_rows,
    rows_where,
    split_groups,
    split_rows,
)


@dataclass(frozen=True)
class Planned:
    """A dataset to be written, all of whose input has been checked."""

    content: Copied
    out: Path
    exact_layout: bool = False
    """Whether an existing dataset of the same content in files of another size is replaced."""
    expected: str = ""
    """Content checksum of the result, if it is known."""

    def write(self, **options: Unpack[WriteOptions]) -> Made:
        """Write it, or continue an earlier run."""
        made = write_dataset(self.content, self.out, exact_layout=self.exact_layout, **options)
        found = open_dataset(made.path).attributes["content_sha256"]
        if self.expected and found != self.expected:
            raise Damage(
                f"{made.path}: its content has the SHA-256 {found}, not {self.expected} as the "
                "source says: run ivl-shards verify on both"
            )
        return made


# --- take --------------------------------------------------------------------------------


def take(
    source: Path | str,
    out: Path | str,
    *,
    where: str | Sequence[str] = (),
    rows: str | range | Array = "",
    n: int | None = None,
    seed: int = 0,
    split: str | None = None,
    **options: Unpack[WriteOptions],
) -> Made:
    """Copy some samples of a dataset to a new one, in the same order.

    Parameters
    ----------
    where
        Conditions on the labels, all of which must hold, such as `line_count <= 3`.
    rows
        Rows to choose from, such as `0-999` (both ends included), a range, or an array.
    n
        Size of a random sample of the rows that fulfil the conditions.
    seed
        Random seed of that sample.
    split
        Name of the split of the new dataset; that of the source by default.
    options
        How to write it, see `WriteOptions`.
    """
    planned = plan_take(source, out, where=where, rows=rows, n=n, seed=seed, split=split)
    return planned.write(**options)


def plan_take(
    source: Path | str,
    out: Path | str,
    *,
    where: str | Sequence[str] = (),
    rows: str | range | Array = "",
    n: int | None = None,
    seed: int = 0,
    split: str | None = None,
) -> Planned:
    """Choose the samples for `take`, without writing anything."""
    dataset, path = _open_source(source), _checked_out(out, [source])
    check_seed(seed)
    _check_split(split)
    conditions = [where] if isinstance(where, str) else list(where)
    conditions = [condition for condition in conditions if condition.strip()]
    chosen, said = _parse_rows(rows, dataset)
    require(
        bool(conditions or said or n is not None),
        "nothing to select: give a condition (--where), rows (--rows) or a number (--n)",
    )
    chosen = rows_where(dataset, chosen, conditions)
    require(len(chosen) > 0, f"{source}: no sample fulfils {_listed(conditions, said)}")
    if n is not None:
        require(n >= 1, f"--n {n}: ask for at least 1 sample")
        enough = f"{source}: only {len(chosen):,} samples to choose from, not {n:,}"
        require(n <= len(chosen), enough)
        chosen = random_rows(chosen, n, seed)
    settings: dict[str, Any] = {
        **({"rows": said} if said else {}),
        **({"where": conditions} if conditions else {}),
        **({"n": n, "seed": seed} if n is not None else {}),
    }
    which = f": {_listed(conditions, said)}" if conditions or said else ""
    how = ", chosen at random" if n is not None else ""
    sentence = f"A selection of {len(chosen):,} of {len(dataset):,} samples{which}{how}."
    operation = Operation("take", settings, _take_command(settings, split), sentence)
    name = split or dataset.attributes["split"]
    description = derived([dataset], file_schema(dataset), len(chosen), name, operation)
    return Planned(Copied(description, ((_absolute(dataset), chosen),)), path)


def _take_command(settings: Mapping[str, Any], split: str | None) -> str:
    """Return the command line of a selection; empty if its rows were chosen in Python."""
    words = ["ivl-shards", "take", "SOURCE.h5"]
    if "rows" in settings:
        if not isinstance(settings["rows"], str):
            return ""
        words += ["--rows", settings["rows"]]
    for condition in settings.get("where", []):
        words += ["--where", condition]
    if "n" in settings:
        words += ["--n", str(settings["n"]), "--seed", str(settings["seed"])]
    words += ["--split", split] if split else []
    return shlex.join([*words, "--out", "OUT.h5"])


def _parse_rows(rows: str | range | Array, dataset: Dataset) -> tuple[Rows, Any]:
    """Return the rows, and what the recipe says of them; empty for all."""
    samples, path = len(dataset), str(dataset.path)
    if isinstance(rows, str):
        return (parse_rows(rows, samples, path), rows) if rows else (range(samples), "")
    if isinstance(rows, range) and rows.step == 1 and 0 <= rows.start < rows.stop <= samples:
        return rows, f"{rows.start}-{rows.stop - 1}"  # without a list of all
    numbers: Array = np.unique(np.asarray(rows))
    require(len(numbers) > 0, "no rows: give at least one")
    require(numbers.dtype.kind in "iu", "rows must be whole numbers")
    inside = numbers[0] >= 0 and numbers[-1] < samples
    require(bool(inside), f"{path}: its rows are 0-{samples - 1}")
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first + 1 == len(numbers):
        return range(first, last + 1), f"{first}-{last}"
    checksum = hashlib.sha256(numbers.astype("<i8").tobytes()).hexdigest()
    return numbers.astype(np.int64), {"number": len(numbers), "sha256": checksum}


def _listed(conditions: Sequence[str], rows: Any) -> str:
    parts = [f"rows {rows}"] if isinstance(rows, str) and rows else []
    return " and ".join([*parts, *(f"'{condition}'" for condition in conditions)]) or "listed rows"


# --- split -------------------------------------------------------------------------------


def split(
    source: Path | str,
    outs: Sequence[Path | str],
    fractions: Sequence[float],
    *,
    by: str = "",
    seed: int = 0,
    names: Sequence[str] | None = None,
    **options: Unpack[WriteOptions],
) -> list[Made]:
    """Copy the samples of a dataset to several new ones that share none.

    Parameters
    ----------
    outs, fractions
        The new datasets, and the fraction of the samples for each.
    by
        A field: samples with the same value stay together, for example those of one photograph
        with `source_image`.
    seed
        Random seed.
    names
        Names of the splits; by default those of the files without their ending.
    options
        How to write them, see `WriteOptions`.
    """
    planned = plan_split(source, outs, fractions, by=by, seed=seed, names=names)
    return [part.write(**options) for part in planned]


def plan_split(
    source: Path | str,
    outs: Sequence[Path | str],
    fractions: Sequence[float],
    *,
    by: str = "",
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> list[Planned]:
    """Choose the samples for `split`, without writing anything."""
    dataset = _open_source(source)
    paths = [_checked_out(out, [source]) for out in outs]
    _check_fractions(fractions, paths)
    check_seed(seed)
    chosen_names = [path.stem for path in paths] if names is None else list(names)
    require(len(chosen_names) == len(paths), f"{len(chosen_names)} names for {len(paths)} files")
    require(len(set(chosen_names)) == len(paths), "two parts have the same name: give --names")
    for name in chosen_names:
        _check_split(name, "--names")
    if by:
        parts = split_groups(dataset, by, fractions, seed)
    else:
        parts = split_rows(range(len(dataset)), fractions, seed)
    shares = ",".join(f"{fraction:g}" for fraction in fractions)
    command = shlex.join(
        [
            *("ivl-shards", "split", "SOURCE.h5", "--fractions", shares),
            *(("--by", by) if by else ()),
            *("--seed", str(seed), "--names", ",".join(chosen_names)),
            *(word for k in range(len(paths)) for word in ("--out", f"OUT-{k + 1}.h5")),
        ]
    )
    planned = []
    for k, (path, rows, name) in enumerate(zip(paths, parts, chosen_names, strict=True)):
        require(
            len(rows) > 0,
            f"{path}: would be empty: {dataset.path} has {len(dataset):,} samples"
            + (f", in too few groups of one {by}" if by else ""),
        )
        settings = {
            "fractions": [float(fraction) for fraction in fractions],
            "part": k,
            **({"by": by} if by else {}),
            "seed": seed,
        }
        together = f"; samples of one {by} are all in the same part" if by else ""
        sentence = (
            f"Part {k + 1} of {len(paths)} of a random split: {len(rows):,} of "
            f"{len(dataset):,} samples{together}."
        )
        operation = Operation("split", settings, command, sentence)
        description = derived([dataset], file_schema(dataset), len(rows), name, operation)
        planned.append(Planned(Copied(description, ((_absolute(dataset), rows),)), path))
    return planned


def _check_fractions(fractions: Sequence[float], paths: Sequence[Path]) -> None:
    require(
        len(fractions) == len(paths),
        f"{len(fractions)} fractions for {len(paths)} files: give --out once for each fraction",
    )
    require(len(paths) >= 1, "nothing to write: give --fractions and --out")
    require(len({path.resolve() for path in paths}) == len(paths), "two parts have the same --out")
    for fraction in fractions:
        require(0 < fraction <= 1, f"--fractions: {fraction:g} is not between 0 and 1")
    total = sum(fractions)
    require(total <= 1 + 1e-9, f"--fractions: their sum is {total:g}, more than 1")


# --- reshard and merge -------------------------------------------------------------------


def reshard(source: Path | str, out: Path | str, **options: Unpack[WriteOptions]) -> Made:
    """Copy a dataset to files of another size, `shard_size`; the content stays the same.

    For a single file, give a `shard_size` of at least the number of samples.
    """
    return plan_reshard(source, out).write(**options)


def plan_reshard(source: Path | str, out: Path | str) -> Planned:
    """Check the input of `reshard`, without writing anything."""
    dataset, path = _open_source(source), _checked_out(out, [source])
    content = Copied(unchanged(dataset), ((_absolute(dataset), range(len(dataset))),))
    checksum = dataset.attributes["content_sha256"]
    return Planned(content, path, exact_layout=True, expected=checksum)


def merge(
    sources: Sequence[Path | str],
    out: Path | str,
    *,
    split: str | None = None,
    **options: Unpack[WriteOptions],
) -> Made:
    """Copy the samples of several datasets to one, one dataset after the other.

    They must have the same task and the same fields; only the padding may differ.

    Parameters
    ----------
    split
        Name of the split of the new dataset; by default those of the sources, joined.
    options
        How to write it, see `WriteOptions`.
    """
    return plan_merge(sources, out, split=split).write(**options)


def plan_merge(
    sources: Sequence[Path | str], out: Path | str, *, split: str | None = None
) -> Planned:
    """Check the input of `merge`, without writing anything."""
    require(len(sources) >= 2, "give at least two datasets to merge")
    _check_split(split)
    path = _checked_out(out, sources)
    datasets = [_open_source(source) for source in sources]
    real = [require_local(dataset.path).resolve() for dataset in datasets]
    for k, each in enumerate(real):
        require(each not in real[:k], f"{sources[k]}: is given twice: its samples would be doubled")
    schema = merged_schema(datasets)
    total = sum(map(len, datasets))
    files = [f"SOURCE-{k + 1}.h5" for k in range(len(datasets))]
    name = split or joined_split(dataset.attributes["split"] for dataset in datasets)
    chosen = ("--split", split) if split else ()
    command = shlex.join(["ivl-shards", "merge", *files, *chosen, "--out", "OUT.h5"])
    sizes = ", ".join(f"{len(dataset):,}" for dataset in datasets)
    sentence = f"Merged from {len(datasets)} datasets of {sizes} samples."
    operation = Operation("merge", {}, command, sentence)
    description = derived(datasets, schema, total, name, operation)
    pieces = tuple((_absolute(dataset), range(len(dataset))) for dataset in datasets)
    return Planned(Copied(description, pieces), path)


# --- input and output --------------------------------------------------------------------


def _open_source(source: Path | str) -> Dataset:
    path = require_local(as_location(source))
    dataset = open_dataset(path)
    if dataset.shards != [path]:
        check_bytes(path)  # each shard is checked when it is read
    for path in map(require_local, dataset.shards):
        if not path.exists():
            raise Damage(f"{path}: shard is missing: put it back, or make the dataset again")
    return dataset


def _absolute(dataset: Dataset) -> Path:
    return require_local(dataset.path).absolute()


def _checked_out(out: Path | str, sources: Sequence[Path | str]) -> Path:
    """Return the path of a new dataset; raise if writing it would destroy a source."""
    path = require_local(as_location(out))
    store_of(path).check_target(path.absolute())
    for source in map(Path, sources):
        same = path.exists() and source.exists() and path.samefile(source)
        if same or path.resolve() == source.resolve():
            raise UserError(f"{out}: is the dataset to copy from: choose another name")
        if shard_folder(path.resolve()) in source.resolve().parents:
            raise UserError(
                f"{source}: lies in the folder for the shards of {out}: choose another name for it"
            )
    return path


def _check_split(name: str | None, option: str = "--split") -> None:
    if name is not None:
        check_split(name, option)
