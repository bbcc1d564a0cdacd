"""Documents: blocks of text, tables and charts, written as an HTML page or as Markdown."""
