"""The curves from a score to a probability: logistic, normal, and linear.

They use an exponential of our own, made of basic operations only, because that of the C library
differs in the last bit between machines; and numpy's, for which a kernel that is interpreted would
call, is yet another one than that of compiled code.
"""

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled

LOGISTIC, PROBIT, LINEAR = 0, 1, 2

_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # the leading 33 bits of ln 2: n * _LN2_HIGH is exact
_LN2_LOW = 1.9082149292705877e-10
_SMALLEST, _LARGEST = -745.2, 709.79  # beyond them exp is 0 or overflows
_POWERS = np.ldexp(1.0, np.arange(-1075, 1024))  # of two, so that scaling is exact
_RECIPROCAL_FACTORIALS = tuple(1.0 / math.factorial(i) for i in range(14))
_LOGARITHM = tuple(2.0 / i for i in range(3, 25, 2))  # of 2 artanh s - 2 s, in powers of s^2

# Chebyshev coefficients of log(erfc(z) / t) + z^2 over t = 2 / (2 + z) in (0, 1], computed with
# 60 digits; the first one is halved.
_ERFC = np.array(
    [
        -0.6513268598908547,
        0.6419697923564902603,
        0.019476473204185836312,
        -0.0095615147868086316419,
        -0.0009465953444820368663,
        0.00036683949785276145187,
        0.000042523324806907771645,
        -0.000020278578112534243154,
        -1.6242900046470255135e-6,
        1.3036558355805232018e-6,
        1.5626441722066143178e-8,
        -8.5238095914926542525e-8,
        6.5290544390988514964e-9,
        5.0593434955514689418e-9,
        -9.9136415649303308674e-10,
        -2.2736512229318358557e-10,
        9.646791102015526802e-11,
        2.3940380830391147447e-12,
        -6.8860275264975533984e-12,
        8.9448792730907257167e-13,
        3.1309213993429580783e-13,
        -1.1270822361367252366e-13,
        3.8109052551892320552e-16,
        7.1060976136092369878e-15,
        -1.5230282014571043043e-15,
        -9.4574945712912340005e-17,
        1.2102371892242789923e-16,
        -2.8166630877471769718e-17,
    ]
)


@compiled
def exponential(x: float) -> float:
    """Compute e^x to about one unit in the last place."""
    if x != x:
        return x
    if x > _LARGEST:
        return math.inf
    if x < _SMALLEST:
        return 0.0
    n = math.floor(x * _PER_LN2 + 0.5)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    total = _RECIPROCAL_FACTORIALS[13]
    for i in range(12, -1, -1):
        total = total * r + _RECIPROCAL_FACTORIALS[i]
    if n > 1023:  # 2^1024 is no number, but total * 2^1024 can be one
        return float(total * 2.0 * _POWERS[n - 1 + 1075])
    return float(total * _POWERS[n + 1075])


@compiled
def logarithm(x: float) -> float:
    """Compute ln x of a positive number to about one unit in the last place."""
    fraction, n = math.frexp(x)
    if fraction < 0.7071067811865476:
        fraction, n = 2.0 * fraction, n - 1
    more = fraction - 1.0  # ln(1 + more) = more - half + s (half + total)
    s, half, total = more / (2.0 + more), 0.5 * more * more, 0.0
    square = s * s
    for i in range(len(_LOGARITHM) - 1, -1, -1):
        total = (total + _LOGARITHM[i]) * square
    return n * _LN2_HIGH - ((half - (s * (half + total) + n * _LN2_LOW)) - more)


@compiled
def normal_distribution(x: float) -> float:
    """Compute Phi(x), the normal distribution function, to a relative 1e-14."""
    if x != x:
        return x
    size = min(abs(x), 40.0)  # beyond it the tail is 0
    t = 2.0 / (2.0 + size / 1.4142135623730951)
    y = 4.0 * t - 2.0
    ahead, behind = 0.0, 0.0  # Clenshaw's recurrence
    for i in range(_ERFC.shape[0] - 1, 0, -1):
        ahead, behind = y * ahead - behind + _ERFC[i], ahead
    # x^2 = coarse^2 + (x - coarse)(x + coarse), the first exact: rounded, x^2 would cost the tail
    # three digits.
    coarse = math.floor(16.0 * size) / 16.0
    rest = -0.5 * (size - coarse) * (size + coarse)
    tail = 0.5 * t * exponential(rest + 0.5 * y * ahead - behind + _ERFC[0])
    tail *= exponential(-0.5 * coarse * coarse)
    return 1.0 - tail if x > 0.0 else tail


@compiled
def probability(link: int, score: float) -> float:
    """Compute sigma(score); the linear curve is the score itself, clipped to [0, 1]."""
    if link == LOGISTIC:
        if score >= 0.0:
            return 1.0 / (1.0 + exponential(-score))
        grown = exponential(score)
        return grown / (1.0 + grown)
    if link == PROBIT:
        return normal_distribution(score)
    return min(max(score, 0.0), 1.0)


@compiled
def slope(link: int, score: float) -> float:
    """Compute sigma'(score)."""
    if link == LOGISTIC:
        shrunk = exponential(-abs(score))
        return shrunk / ((1.0 + shrunk) * (1.0 + shrunk))
    if link == PROBIT:
        return 0.3989422804014327 * exponential(-0.5 * score * score)
    return 1.0


@compiled
def residual(link: int, score: float, success: bool) -> float:
    """Compute y - sigma(score) as s sigma(-s score), which does not cancel."""
    if link == LINEAR:
        return (1.0 if success else 0.0) - score
    return probability(link, -score) if success else -probability(link, score)


@compiled
def probabilities(link: int, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute sigma of every score. O(n)."""
    result = np.empty(scores.shape[0])
    for i in range(scores.shape[0]):
        result[i] = probability(link, scores[i])
    return result


@compiled
def densities(link: int, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute sigma' of every score. O(n)."""
    result = np.empty(scores.shape[0])
    for i in range(scores.shape[0]):
        result[i] = slope(link, scores[i])
    return result
