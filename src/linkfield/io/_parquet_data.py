"""Data from Parquet files, read in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cells import shortened
from ._columns import Wish, pick
from ._gather import Block, Data, Gather
from .tables import opened_parquet

__all__ = ["read_parquet_data"]

BATCH = 16_384


def read_parquet_data(file: Path, wish: Wish, dtype: Any) -> Data:
    """Read a Parquet file; its own types say which columns hold numbers."""
    # Buffers as large as a row group would hold the file a second time.
    options = {"pre_buffer": False, "buffer_size": 1 << 18, "page_checksum_verification": True}
    with opened_parquet(file, "it needs columns and rows", **options) as opened:
        schema = opened.schema_arrow
        types = {name: schema.field(j).type for j, name in enumerate(schema.names)}
        picked = pick(file, schema.names, wish, lambda name: _is_number(types[name]))
        for name in picked.numbers:
            _check_type(file, name, types[name])
        if picked.label is not None:
            _check_label(file, picked.label, types[picked.label])
        if dtype is None:
            dtype = _own_dtype([types[name] for name in picked.numbers], types, picked.embedding)
        gather = Gather(file, picked, dtype, place="row")
        gather.reserve(opened.metadata.num_rows)
        for batch in opened.iter_batches(BATCH, columns=list(picked.used)):
            gather.add(_block(gather, batch))
    return gather.data(text_only=False)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_number(kind.value_type)
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _check_type(file: Path, name: str, kind: Any) -> None:
    from pyarrow import types

    if _is_number(kind) or types.is_boolean(kind):
        return
    if _is_list(kind):
        remedy = "give it as the embedding column"
    else:
        remedy = "leave it out, or write it as numbers"
    raise ValueError(f"{file}: column {name!r} holds {kind} where numbers are needed; {remedy}")


def _check_label(file: Path, name: str, kind: Any) -> None:
    from pyarrow import types

    if types.is_nested(kind):
        raise ValueError(
            f"{file}: column {name!r} holds {kind} where labels are needed; write one word or "
            "number a row, or name another label column"
        )


def _own_dtype(numbers: Sequence[Any], types: dict[str, Any], embedding: str | None) -> Any:
    """Return float32 where nothing in the file is more exact."""
    import pyarrow as pa

    kinds = list(numbers)
    if embedding is not None and _is_list(types[embedding]):
        kinds.append(types[embedding].value_type)
    short = kinds and all(kind in (pa.float32(), pa.float16()) for kind in kinds)
    return np.dtype(np.float32 if short else np.float64)


def _block(gather: Gather, batch: Any) -> Block:
    picked = gather.picked
    rows = range(gather.n, gather.n + batch.num_rows)

    def values(name: str | None) -> list[Any]:
        return [] if name is None else batch.column(name).to_pylist()

    block = Block(rows, ids=values(picked.id), labels=values(picked.label))
    for row, text in zip(rows, values(picked.text), strict=picked.text is not None):
        if text is not None and not isinstance(text, str):
            raise ValueError(
                f"{gather.file}, row {row}: column {picked.text!r} must be text; found "
                f"{shortened(text)}"
            )
        block.texts.append(text or "")
    block.numbers = [_numbers(batch.column(name)) for name in picked.numbers]
    if picked.embedding is not None:
        block.vectors = _vectors(gather, batch.column(picked.embedding), rows)
    return block


def _numbers(column: Any) -> NDArray[Any]:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _vectors(gather: Gather, column: Any, rows: range) -> NDArray[np.float64]:
    """Return lists of numbers as rows: at once if they are all of one length."""
    if _is_list(column.type) and _is_number(column.type.value_type) and not column.null_count:
        flat = column.flatten()
        d, rest = divmod(len(flat), len(column)) if len(column) else (0, 0)
        even = not rest and d and column.value_lengths().unique().tolist() == [d]
        known = None if gather._X is None else gather._X.shape[1]
        if even and known in (None, d) and not flat.null_count:
            return np.asarray(_numbers(flat)).reshape(len(column), d)
    return gather.vectors(column.to_pylist(), rows)
