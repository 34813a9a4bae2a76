"""How rows are cut into blocks: by the problem alone, never by the number of threads."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

__all__ = ["cut_rows"]

#: A block is worth about so many multiplications in a pass over all centres, and has no fewer
#: rows than the first number and need have no more than the second; there are so many at most,
#: unless a block would hold more than so many numbers (of data larger than memory, say).
BLOCK_WORK, BLOCK_ROWS, MOST_BLOCKS, BLOCK_NUMBERS = 40_000_000, (512, 8192), 32, 16_000_000

#: All blocks' results together take no more than this many numbers (64 MB).
RESULT_NUMBERS = 8_000_000


@lru_cache(maxsize=64)
def cut_rows(n: int, d: int, work: int, result: int = 0) -> tuple[slice, ...]:
    """Cut n rows of d features.

    ``work`` says how many multiplications a row takes, ``result`` how many numbers each block
    gives back.
    """
    most = max(MOST_BLOCKS, n * d // BLOCK_NUMBERS)
    most = min(most, max(1, RESULT_NUMBERS // max(result, 1)))
    fair = BLOCK_WORK // max(1, work)
    count = max(1, min(most, n // min(max(fair, BLOCK_ROWS[0]), BLOCK_ROWS[1])))
    edges = [n * k // count for k in range(count + 1)]
    return tuple(slice(a, b) for a, b in pairwise(edges))
