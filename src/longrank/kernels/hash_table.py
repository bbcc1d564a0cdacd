"""A hash table of the columns of a belief, by their 64-bit keys, and the groups of their priors.

The table of ``keys`` (0: free) has a row of ``columns`` for each key: the precision from data, the
natural mean, and the last contributions to the sums of its group. A column that was never observed
is not in the table: its mean is 0, its variance that of its group. A group shares one learned prior
variance: it is a field, or a pair of fields.
"""

import numpy as np

from longrank.arrays import Indices, Keys, Matrix, Vector
from longrank.kernels.compilation import compiled

WINDOW = 32  # places, from its home on, that a column may occupy
MAX_GROUPS = 1 << 11  # of which half are used
FREE = np.uint64(0)  # the key of a free place
SHARED = np.uint64(
    0xFFFFFFFFFFFFFFFF
)  # the key of the first group, which those that do not fit share


@compiled
def _home(key: np.uint64, size: int) -> int:
    return np.int64(key & np.uint64(size - 1))  # type: ignore[return-value]


@compiled
def find(keys: Keys, key: np.uint64) -> int:
    """Find the place of a column; -1 if absent. O(1)."""
    size = keys.shape[0]
    at = _home(key, size)
    for _ in range(min(WINDOW, size)):
        if keys[at] == key:
            return at
        if keys[at] == FREE:
            return -1
        at = (at + 1) & (size - 1)
    return -1


@compiled
def place(
    keys: Keys,
    columns: Matrix,
    group_of: Indices,
    sums: Matrix,
    counts: Indices,
    key: np.uint64,
    group: int,
) -> int:
    """Find the place of a column, inserting it if absent.

    If its window is full, the column with the least evidence is evicted: it returns to its prior,
    and its group forgets it.
    """
    size = keys.shape[0]
    at = weakest = _home(key, size)
    for _ in range(min(WINDOW, size)):
        if keys[at] == key:
            return at
        if keys[at] == FREE:
            counts[0] += 1
            keys[at], group_of[at] = key, group
            return at
        if columns[at, 0] < columns[weakest, 0]:
            weakest = at
        at = (at + 1) & (size - 1)
    counts[2] += 1
    before = group_of[weakest]
    sums[before, 0] -= columns[weakest, 2]
    sums[before, 1] -= columns[weakest, 3]
    columns[weakest, :] = 0.0
    keys[weakest], group_of[weakest] = key, group
    return weakest


@compiled
def first_variance(entries: int) -> float:
    """Return the prior variance of a new group, given the number of entries in a row.

    It is 1 in short rows. In long ones the variances add up to 1, since most crosses do not
    matter.
    """
    return max(min(1.0, 16.0 / (entries * entries)), 1.0 / entries)


@compiled
def join_groups(group_keys: Keys, variances: Vector, groups: Keys, counts: Indices) -> Indices:
    """Find the place of every group, inserting new ones; those that do not fit share the first.

    The first place must hold ``SHARED``: it is never free, so that the search for a group does not
    end at it. Its variance is 0 until it is shared.
    """
    size = group_keys.shape[0]
    places = np.empty(groups.shape[0], np.int64)
    for p in range(groups.shape[0]):
        if p > 0 and groups[p] == groups[p - 1]:
            places[p] = places[p - 1]
            continue
        at = find(group_keys, groups[p])
        if at < 0:
            at = 0
            if counts[1] < size // 2:
                at = _home(groups[p], size)
                for _ in range(WINDOW):
                    if group_keys[at] == FREE:
                        group_keys[at] = groups[p]
                        variances[at] = first_variance(groups.shape[0])
                        counts[1] += 1
                        break
                    at = (at + 1) & (size - 1)
                else:
                    at = 0
            if at == 0 and variances[0] == 0.0:
                variances[0] = first_variance(groups.shape[0])
        places[p] = at
    return places


@compiled
def room_for(columns: int, size: int, limit: int) -> int:
    """Return the size of a table that is at most half full, within the limit."""
    while size < limit and 2 * columns > size:
        size *= 2
    return size


@compiled
def grow(
    keys: Keys, columns: Matrix, group_of: Indices, sums: Matrix, counts: Indices, size: int
) -> tuple[Keys, Matrix, Indices]:
    """Rehash a table into one of ``size`` places, at least twice as many."""
    moved, moved_columns = np.zeros(size, np.uint64), np.zeros((size, columns.shape[1]))
    moved_groups = np.zeros(size, np.int64)
    counts[0] = 0
    for old in range(keys.shape[0]):
        if keys[old] != FREE:
            at = place(moved, moved_columns, moved_groups, sums, counts, keys[old], group_of[old])
            for part in range(columns.shape[1]):
                moved_columns[at, part] = columns[old, part]
    return moved, moved_columns, moved_groups
