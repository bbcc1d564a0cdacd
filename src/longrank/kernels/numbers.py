"""Numbers of any scale as atoms: a normal score, and one of eight bins between quantiles.

Each field keeps a sorted sample of observed numbers, at most ``SAMPLE``. Ranks within it do not
depend on the unit, and are robust to heavy tails.
"""

import math
from statistics import NormalDist

import numpy as np

from longrank.arrays import Flags, Indices, Keys, Matrix, Vector
from longrank.kernels.compilation import compiled

SAMPLE = 255
BINS = 8
LIMIT = 4.0  # of a score by logarithms; the normal ones reach 3
FAR = 10.0  # clips a logarithm's distance from the median, so that no single number sets the scale
ENOUGH = 32  # observations needed for bins, and to recognise outliers
_GRID = 2 * (SAMPLE + 1)
_SCORES = np.array([NormalDist().inv_cdf((i + 0.5) / _GRID) for i in range(_GRID)])
_MULTIPLIER, _INCREMENT, _MASK = 1103515245, 12345, 0x7FFFFFFF


@compiled
def _below(sample: Vector, size: int, number: float) -> int:
    """Count the sampled numbers that are smaller. O(log size)."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if sample[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _share(sample: Vector, size: int, number: float) -> float:
    """Return the share of the sample below a number, ties counting half, strictly in (0, 1)."""
    low = _below(sample, size, number)
    high = low
    while high < size and sample[high] == number:
        high += 1
    return (0.5 * (low + high) + 0.5) / (size + 1)


@compiled
def _spread_of_logs(sample: Vector, size: int) -> tuple[float, float]:
    """Return mean and deviation of the logarithms of a sorted sample.

    In a large enough sample, distances from the median are clipped at ``FAR`` times the
    interquartile range.
    """
    mean, square, low, high = 0.0, 0.0, -math.inf, math.inf
    if size >= ENOUGH:
        middle = math.log(sample[size // 2])
        far = FAR * (math.log(sample[3 * size // 4]) - math.log(sample[size // 4]))
        if far > 0.0:
            low, high = middle - far, middle + far
    for i in range(size):
        mean += min(max(math.log(sample[i]), low), high) / size
    for i in range(size):
        apart = min(max(math.log(sample[i]), low), high) - mean
        square += apart * apart / size  # compiled, a power would differ in the last bit
    return mean, math.sqrt(square)


@compiled
def code_rows(
    templates: Keys,
    index: Indices,
    numbers: Matrix,
    places: Indices,
    logs: Flags,
    codes: Keys,
    samples: Matrix,
    sizes: Indices,
) -> tuple[Keys, Matrix, int]:
    """Return the atoms of records: row ``index[i]`` of the templates, with the numbers filled in.

    Field j of the numbers takes two atoms from ``places[j]`` on: its score, its bin; NaN is
    missing. ``codes[j]`` are its keys: missing, score, then the bins. Also returns which number is
    infinite, or has no logarithm, as i q + j; -1 if there is none. O(k a).
    """
    k, a = index.shape[0], templates.shape[1]
    keys, values = np.empty((k, a), np.uint64), np.ones((k, a))
    centres, spreads = np.zeros(places.shape[0]), np.zeros(places.shape[0])
    for j in range(places.shape[0]):
        if logs[j]:
            centres[j], spreads[j] = _spread_of_logs(samples[j], sizes[j])
    for i in range(k):
        for at in range(a):
            keys[i, at] = templates[index[i], at]
        for j in range(places.shape[0]):
            at, number, size = places[j], numbers[i, j], sizes[j]
            keys[i, at], values[i, at + 1] = codes[j, 0], 0.0
            keys[i, at + 1] = codes[j, 2]
            if number != number:
                continue
            if abs(number) == math.inf or (logs[j] and number <= 0.0):
                return keys, values, i * places.shape[0] + j
            share = _share(samples[j], size, number)
            keys[i, at], keys[i, at + 1] = codes[j, 1], codes[j, 2 + int(share * BINS)]
            if not logs[j]:
                values[i, at] = _SCORES[int(share * _GRID)]
            elif spreads[j] > 0.0:
                score = (math.log(number) - centres[j]) / spreads[j]
                values[i, at] = min(max(score, -LIMIT), LIMIT)
            else:
                values[i, at] = 0.0
            if size >= ENOUGH:
                values[i, at + 1] = 1.0
    return keys, values, -1


@compiled
def observe_numbers(numbers: Matrix, samples: Matrix, sizes: Indices, seen: Indices) -> None:
    """Add observed numbers to the samples; NaN is missing. O(rows fields SAMPLE).

    Reservoir sampling: each of n observations is in the sample with the same probability. The
    integer generator's state is n.
    """
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            number = numbers[i, j]
            if number != number:
                continue
            sample, size = samples[j], sizes[j]
            seen[j] += 1
            if size < SAMPLE:
                sizes[j] = size + 1
            else:
                drawn = (seen[j] * _MULTIPLIER + _INCREMENT) & _MASK
                drawn = ((drawn ^ (drawn >> 15)) * 48271) & _MASK
                drawn = ((drawn ^ (drawn >> 13)) * 69621) & _MASK
                rank = drawn % seen[j]
                if rank >= SAMPLE:
                    continue
                for at in range(rank, SAMPLE - 1):
                    sample[at] = sample[at + 1]
                size = SAMPLE - 1
            at = _below(sample, size, number)
            for back in range(size, at, -1):
                sample[back] = sample[back - 1]
            sample[at] = number
