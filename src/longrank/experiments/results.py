"""Results on disk: one Parquet file per cell, in one folder.

Any tool reads the folder as one table (``pandas.read_parquet("results")``). Files are complete,
and are never overwritten.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, cast, get_type_hints

from longrank import __version__
from longrank.disk import atomic
from longrank.errors import BadFile, InvalidInput, needs_extra
from longrank.experiments.settings import Cell

with needs_extra("results", "experiments"):
    import pyarrow as pa
    import pyarrow.parquet as pq


class ResultRow(TypedDict):
    """One policy with one setting on one stream; the columns of a results file."""

    task: str
    scenario: str
    budget: int
    policy: str
    grid: str
    protocol: str  # "grid", or "held-out": the setting was chosen on other shuffles
    settings: str  # JSON
    seed: int
    rounds: int
    cumulative_reward: float
    cr_rand: float  # expected reward of a random order
    cr_max: float  # of a clairvoyant
    ncr: float
    ncr_published: float
    mean_length: float  # that the policy committed to
    mean_tried: float
    seconds: float
    curve: list[float] | None  # rewards of every round, of the best setting of the cell
    mean_spent: float | None  # costs of the tries of a round, where items have fees
    items: int | None  # of all rounds
    dimensions: int | None  # of an item
    success_rate: float | None  # share of the items that succeed


_NUMBERS = {int: pa.int64(), float: pa.float64(), list[float]: pa.list_(pa.float64())}
_TYPES: dict[Any, pa.DataType] = {str: pa.string(), **_NUMBERS}
_TYPES |= {kind | None: column for kind, column in _NUMBERS.items()}
_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in get_type_hints(ResultRow).items()])
_VERSION, _DATE = b"longrank_version", b"longrank_date"  # metadata of a file


def path_of(out: Path, cell: Cell) -> Path:
    """Return the results file of a cell."""
    return out / f"{cell.name}.parquet"


def finished(out: Path, cell: Cell) -> bool:
    """Tell whether this cell has been run before."""
    return path_of(out, cell).exists()


def write_cell(out: Path, cell: Cell, rows: list[ResultRow]) -> Path:
    """Add the rows of a cell; refuse to replace existing ones."""
    path = path_of(out, cell)
    today = datetime.now(UTC).date().isoformat()
    origin = {_VERSION: __version__.encode(), _DATE: today.encode()}
    schema = _SCHEMA.with_metadata(origin)
    try:
        with atomic(path, replace=False) as part:
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), part, compression="zstd")
    except FileExistsError:
        raise InvalidInput("out", "not hold this cell already", path) from None
    return path


def origin(folders: Iterable[Path]) -> tuple[list[str], list[str]]:
    """Return the versions that ran the cells in these folders, and the days as ISO dates.

    Empty where files do not say.
    """
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.parquet"))]
    metadata = [pq.read_schema(file).metadata or {} for file in files]
    versions = sorted({each[_VERSION].decode() for each in metadata if _VERSION in each})
    return versions, sorted({each[_DATE].decode() for each in metadata if _DATE in each})


def read_results(folders: Iterable[Path]) -> list[ResultRow]:
    """Read all rows of all cells in these folders."""
    rows: list[ResultRow] = []
    for folder in folders:
        files = sorted(Path(folder).glob("*.parquet"))
        if not files:
            raise InvalidInput("results", "be a folder with .parquet files of longrank run", folder)
        for file in files:
            rows += _read(file)
    return rows


def read_cells(out: Path, cells: Iterable[Cell]) -> list[ResultRow]:
    """Read all rows of those of the cells that are finished."""
    return [row for cell in cells if finished(out, cell) for row in _read(path_of(out, cell))]


def _read(file: Path) -> list[ResultRow]:
    try:
        lacking = {"task", "policy", "settings"} - set(pq.read_schema(file).names)
        if lacking:  # a newer column may be missing in an older file, but never these
            some = ", ".join(sorted(lacking))
            raise BadFile(f"{file} is not a results file of longrank: it lacks {some}")
        return cast(list[ResultRow], pq.read_table(file, schema=_SCHEMA).to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise BadFile(f"{file} is not a results file of longrank: {error}") from error


def choose(out: Path, cells: Sequence[Cell]) -> dict[str, str]:
    """Choose the setting with the best mean reward over its finished shuffles, per kind of cell.

    The kinds are named after their cell of seed 0.
    """
    totals: dict[str, dict[str, float]] = {}
    for cell in cells:
        if finished(out, cell):
            kind = totals.setdefault(replace(cell, seed=0).name, {})
            table = pq.read_table(path_of(out, cell), columns=["settings", "cumulative_reward"])
            for row in table.to_pylist():
                kind[row["settings"]] = kind.get(row["settings"], 0.0) + row["cumulative_reward"]
    return {name: max(kind, key=lambda setting: kind[setting]) for name, kind in totals.items()}
