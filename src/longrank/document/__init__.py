"""Documents: blocks of text, tables and pictures, written as an HTML page or as Markdown.

>>> print(to_markdown([Heading("Values", 2), Grid(("policy", "value"), (("a", "0.5"),))]))
## Values
<BLANKLINE>
| policy | value |
| --- | --- |
| a | 0.5 |
<BLANKLINE>
"""

from longrank.document.blocks import (
    Beside,
    Block,
    Callout,
    Code,
    Drawing,
    Field,
    Grid,
    Heading,
    Links,
    Picture,
    Prose,
    counted,
    fitted,
    number,
    plain_number,
    rounded,
    span,
)
from longrank.document.charts import LETTER, NARROW, Chart
from longrank.document.html import to_html
from longrank.document.markdown import to_markdown

__all__ = [
    "LETTER",
    "NARROW",
    "Beside",
    "Block",
    "Callout",
    "Chart",
    "Code",
    "Drawing",
    "Field",
    "Grid",
    "Heading",
    "Links",
    "Picture",
    "Prose",
    "counted",
    "fitted",
    "number",
    "plain_number",
    "rounded",
    "span",
    "to_html",
    "to_markdown",
]
