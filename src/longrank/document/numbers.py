"""Numbers for readers: only significant digits, and a typographic minus sign."""

import math

_HUGE = 1e12  # numbers that nobody reads digit by digit
_MAX_DECIMALS = 9


def number(value: float | None, decimals: int = 2, sign: bool = False) -> str:
    """Format a number for readers: no minus before zero, a dash for a missing one.

    >>> number(-0.001), number(0.014, sign=True), number(None), number(-1e200)
    ('0.00', '+0.01', '–', '−1e+200')
    """
    if value is None or value != value:
        return "–"
    return _minus(plain_number(value, decimals, sign))


def plain_number(value: float, decimals: int = 2, sign: bool = False) -> str:
    """Format a number in ASCII, to be copied.

    >>> plain_number(-0.014), plain_number(-0.001), plain_number(1e200)
    ('-0.01', '0.00', '1e+200')
    """
    plus = "+" if sign else ""
    if abs(value) >= _HUGE:
        return format(value, f"{plus}.4g")
    return format(round(value, decimals) + 0.0, f"{plus}.{decimals}f")


def rounded(value: float, width: float, sign: bool = False) -> str:
    """Format an estimate with the digits that its interval deserves: two of the width.

    A little more or less than zero is not written as zero.

    >>> rounded(4.7064, 1.72), rounded(934.1, 1400.0), rounded(-43.0, 2000.0), rounded(1.5, 0.0)
    ('4.7', '900', '-40', '1.5')
    """
    if not 0.0 < width < math.inf or abs(value) >= _HUGE:
        return f"{value:{'+' if sign else ''}.10g}"
    digits = 1 - math.floor(math.log10(width))
    if not round(value, digits) and abs(value) > 1e-3 * width:
        digits = -math.floor(math.log10(abs(value)))
    if digits > _MAX_DECIMALS:
        return f"{value:{'+' if sign else ''}.10g}"
    return plain_number(round(value, digits), max(digits, 0), sign)


def fitted(value: float, width: float, *, sign: bool = False) -> str:
    """Format the same for readers; a dash if it is unknown.

    >>> fitted(-0.934, 1.4), fitted(0.934, 1.4, sign=True), fitted(math.nan, 1.4)
    ('−0.9', '+0.9', '–')
    """
    return "–" if math.isnan(value) else _minus(rounded(value, width, sign))


def span(low: float, high: float, width: float | None = None, *, sign: bool = False) -> str:
    """Format an interval for readers, by its own width unless another one is given.

    >>> span(-0.12, 1.93), span(math.nan, math.nan)
    ('−0.1 to 1.9', '–')
    """
    if not math.isfinite(low):
        return "–"
    width = high - low if width is None else width
    return " to ".join(fitted(end, width, sign=sign) for end in (low, high))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an s unless it is one.

    >>> counted(1, "other shuffle"), counted(1200, "cell")
    ('1 other shuffle', '1,200 cells')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _minus(text: str) -> str:
    return "\N{MINUS SIGN}" + text[1:] if text.startswith("-") else text
