"""Charts as SVG text: axes, lines, bars, dots with intervals. Needs no other package."""

import math
from collections.abc import Sequence
from html import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
DASHES = ("", "7 3", "2 2", "9 3 2 3", "5 5", "1 3", "12 4")
NARROW = 310.0  # pixels: the width for telephones, whose letters stay as large
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 14.0, 40.0
LETTER = 7.4  # pixels: the width of a letter, or a little less


class Chart:
    """A chart with two axes; ``label`` is its description for screen readers.

    A ``style`` is a number: a colour with a dash pattern, repeated after seven. ``right`` is the
    margin for labels beside the ends of lines.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        label: str,
        titles: tuple[str, str],
        width: float = 640.0,
        height: float = 280.0,
        x_names: Sequence[str] = (),
        right: float = _RIGHT,
    ) -> None:
        self.x, self.y = _widened(*x), _widened(*y)
        self.width, self.height, self.right = width, height, right
        self.label = label
        self.parts: list[str] = []
        self._axes(titles, x_names)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return a point in pixels."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            _LEFT + across * (self.width - _LEFT - self.right),
            self.height - _BOTTOM - up * (self.height - _TOP - _BOTTOM),
        )

    def line(self, points: Sequence[tuple[float, float]], style: int = 0) -> None:
        """Draw a line through points; points that are not finite are left out."""
        finite = [point for point in points if all(map(math.isfinite, point))]
        colour, dash = _colour(style), DASHES[style % len(DASHES)]
        look = {"fill": "none", "stroke": colour, "stroke_width": "2", "stroke_dasharray": dash}
        self._draw("polyline", points=self._path(finite), **look)

    def dot(self, x: float, y: float, style: int = 0, size: float = 4.0) -> None:
        """Draw a dot."""
        px, py = self.at(x, y)
        self._draw("circle", cx=px, cy=py, r=size, fill=_colour(style))

    def whisker(self, x: float, low: float, high: float, style: int = 0) -> None:
        """Draw a vertical interval."""
        (px, bottom), (_, top) = self.at(x, low), self.at(x, high)
        path = f"M{px - 4:.1f} {bottom:.1f}h8m-4 0V{top:.1f}m-4 0h8"
        self._draw("path", d=path, fill="none", stroke=_colour(style), stroke_width="1.6")

    def span(self, y: float, low: float, high: float, style: int = 0) -> None:
        """Draw a horizontal interval."""
        (left, py), (right, _) = self.at(low, y), self.at(high, y)
        path = f"M{left:.1f} {py - 6:.1f}v12m0 -6H{right:.1f}m0 -6v12"
        self._draw("path", d=path, fill="none", stroke=_colour(style), stroke_width="3")

    def band(self, points: Sequence[tuple[float, float, float]], style: int = 0) -> None:
        """Fill the area between lower and upper ends: points are x, low and high."""
        there = [(x, high) for x, _, high in points]
        back = [(x, low) for x, low, _ in reversed(points)]
        look = {"fill": _colour(style), "fill_opacity": "0.13", "stroke": "none"}
        self._draw("polygon", points=self._path(there + back), **look)

    def label_at(self, x: float, y: float, text: str, style: int | None = None) -> None:
        """Write to the right of a point, or before the edge where there is no room."""
        px, py = self.at(x, y)
        px = min(px + 8.0, max(self.width - LETTER * len(text), 0.0))
        self._text(px, py + 4.0, text, "start", "#333" if style is None else _colour(style))

    def rule(self, x: float) -> None:
        """Draw a vertical line to compare with."""
        (px, bottom), (_, top) = self.at(x, self.y[0]), self.at(x, self.y[1])
        look = {"stroke": "#333", "stroke_width": "1.2", "stroke_dasharray": "4 3"}
        self._draw("line", x1=px, y1=bottom, x2=px, y2=top, **look)

    def bar(self, x: float, width: float, height: float, style: int = 0) -> None:
        """Draw a bar from zero."""
        left, top = self.at(x - width / 2, max(height, 0.0))
        right, bottom = self.at(x + width / 2, min(max(0.0, self.y[0]), height))
        across, down = right - left, max(bottom - top, 0.0)
        look = {"fill": _colour(style), "fill_opacity": "0.75"}
        self._draw("rect", x=left, y=top, width=across, height=down, **look)

    def render(self) -> str:
        """Return the chart as an element of a page."""
        return (
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" role="img" '
            f'aria-label="{escape(self.label)}" style="max-width:{self.width / 16.0:.4g}rem">'
            + "".join(self.parts)
            + "</svg>"
        )

    @staticmethod
    def legend(names: Sequence[str]) -> str:
        """Return names with their lines, in the order of the styles, for below a chart."""
        return " ".join(
            f'<span><svg viewBox="0 0 34 8" width="34" height="8" aria-hidden="true">'
            f'<line x1="0" y1="4" x2="34" y2="4" stroke="{_colour(i)}" stroke-width="3" '
            f'stroke-dasharray="{DASHES[i % len(DASHES)]}"/></svg> {escape(name)}</span>'
            for i, name in enumerate(names)
        )

    def _axes(self, titles: tuple[str, str], x_names: Sequence[str]) -> None:
        right, bottom = self.width - self.right, self.height - _BOTTOM
        for tick in _ticks(*self.y) if titles[1] else ():  # an axis without a title has no numbers
            _, py = self.at(self.x[0], tick)
            self._draw("line", x1=_LEFT, y1=py, x2=right, y2=py, stroke="#ddd")
            self._text(_LEFT - 6, py + 4, _number(tick), "end")
        named = [(float(i), name) for i, name in enumerate(x_names)]
        for place, name in named or [(tick, _number(tick)) for tick in _ticks(*self.x)]:
            self._text(self.at(place, self.y[0])[0], bottom + 16, name, "middle")
        self._text((_LEFT + right) / 2, self.height - 6, titles[0], "middle")
        middle = (_TOP + bottom) / 2
        self._text(14.0, middle, titles[1], "middle", transform=f"rotate(-90 14 {middle:.1f})")
        self._draw("path", d=f"M{_LEFT} {_TOP}V{bottom}H{right}", fill="none", stroke="#333")

    def _text(
        self, x: float, y: float, text: str, anchor: str, colour: str = "#333", **more: str
    ) -> None:
        look = {"text_anchor": anchor, "font_size": "12", "fill": colour}
        self._draw("text", escape(text), x=x, y=y, **look, **more)

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))

    def _draw(self, tag: str, content: str = "", **attributes: float | str) -> None:
        """Add an element; lengths have one decimal."""
        texts = {n: v if isinstance(v, str) else f"{v:.1f}" for n, v in attributes.items()}
        inside = "".join(f' {name.replace("_", "-")}="{text}"' for name, text in texts.items())
        self.parts.append(f"<{tag}{inside}>{content}</{tag}>" if content else f"<{tag}{inside}/>")


def _colour(style: int) -> str:
    return COLOURS[style % len(COLOURS)]


def _widened(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers."""
    raw = (high - low) / 5.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [(first + i) * step for i in range(int((high / step + 1e-9) - first) + 1)]


def _number(value: float) -> str:
    return f"{round(value, 10) + 0.0:g}".replace("-", "\N{MINUS SIGN}")
