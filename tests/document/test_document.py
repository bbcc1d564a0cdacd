"""Documents as a page and as Markdown, and the charts in them."""

import re
from pathlib import Path
from xml.etree import ElementTree

from longrank.document.blocks import (
    Code,
    Drawing,
    Field,
    Grid,
    Heading,
    Links,
    Picture,
    Prose,
    to_html,
    to_markdown,
)
from longrank.document.charts import NARROW, Chart
from longrank.document.numbers import number


def test_numbers_are_written_for_readers():
    texts = [number(x) for x in (0.005001, -0.004, -4.56, float("nan"), None)]
    assert texts == ["0.01", "0.00", "−4.56", "–", "–"]
    assert [number(x, 1, sign=True) for x in (0.26, 0.0, -0.26)] == ["+0.3", "+0.0", "−0.3"]
    assert number(1e200, 4) == "1e+200"
    assert number(-2.5e15, 4, sign=True) == "−2.5e+15"
    assert number(2.5e11, 1) == "250000000000.0"


def test_code_in_a_sentence_is_code_on_the_page_and_in_markdown(tmp_path: Path):
    blocks = [Prose("see `a_b | c` and a_b"), Grid(("x",), ((Field("`p|q` <b>", "r", True),),))]
    html = to_html(blocks, "t<t")
    assert "see <code>a_b | c</code> and a_b" in html
    assert "<title>t&lt;t</title>" in html
    assert "&lt;b&gt;" in html
    assert to_markdown(blocks, tmp_path).endswith("| x |\n| --- |\n| **`p\\|q` \\<b\\>** (r) |\n")


def test_a_chart_is_well_formed_and_says_what_it_shows():
    chart = Chart((0.0, 0.0), (1.0, 1.0), label="a < b", titles=("x", "y & z"))
    chart.line([(0.0, 1.0), (float("nan"), 1.0)])
    chart.bar(0.0, 0.5, 1.0)
    chart.whisker(0.0, 0.9, 1.1)
    chart.dot(0.0, 1.0)
    assert ElementTree.fromstring(chart.render()).attrib["aria-label"] == "a < b"
    assert "a &amp; b" in chart.legend(["a & b"])
    assert to_markdown([Drawing(chart)]) == "*a \\< b*\n"
    page = to_html([Drawing(chart, ("one", "two"))], "t")
    assert page.count("<svg") == 3
    assert "two</span>" in page


def test_every_block_is_written_in_both_formats(tmp_path: Path):
    svg = tmp_path / "x.svg"
    svg.write_text('<?xml?><svg width="72pt" height="1pt"><g id="a"/></svg>')
    blocks = [
        Heading("Title", 1, "top"),
        Links((("top", "up"),)),
        Prose("words"),
        Code(("longrank run x",)),
        Picture(svg, "what it shows"),
        Grid(
            ("a", "b", "c"),
            (("1", Field("2", "small", True), "words"),),
            groups=(("", 1), ("group", 2)),
            folded="more",
            prose=(2,),
        ),
    ]
    page = to_html(blocks, "t")
    for part in (
        '<h1 id="top">Title</h1>',
        '<a href="#top">up</a>',
        "<pre>longrank run x</pre>",
        'id="x-a"',
        "<summary>more</summary>",
        '<th class="group" colspan="2">group</th>',
        '<td class="first"><b>2</b><small>small</small></td>',
        '<td class="prose">words</td>',
    ):
        assert part in page
    text = to_markdown(blocks, tmp_path)
    for part in ("# Title", "- up", "```\nlongrank run x\n```", "![what it shows](x.svg)"):
        assert part in text
    assert "more:\n\n| a | group b | group c |" in text
    assert "| 1 | **2** (small) | words |" in text


def test_letters_of_a_chart_for_telephones_are_not_scaled_down():
    wide = Chart((0.0, 1.0), (0.0, 1.0), label="wide", titles=("x", "y"))
    narrow = Chart((0.0, 1.0), (0.0, 1.0), label="narrow", titles=("x", "y"), width=NARROW)
    narrow.label_at(0.9, 0.5, "a long name of a policy")
    page = to_html([Drawing(wide, narrow=Drawing(narrow, ("a",)))], "t")
    assert re.search(r'(?s)<figure class="large">.*"wide".*<div class="small">.*"narrow"', page)
    for chart, page_width in ((wide, 641.0), (narrow, 320.0)):  # the narrowest of each
        drawn = ElementTree.fromstring(chart.render())
        scale = min((page_width - 32.0) / chart.width, 1.0)
        assert all(scale * float(text.get("font-size")) >= 11.0 for text in drawn.iter("text"))
    label = next(text for text in drawn.iter("text") if text.text.startswith("a long"))
    assert float(label.get("x")) + 7.0 * len(label.text) <= NARROW  # it is not cut off
