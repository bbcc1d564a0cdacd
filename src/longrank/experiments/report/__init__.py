"""The report: one page, the same as Markdown, and every table and figure as a file."""

from longrank.experiments.report.write import report

__all__ = ["report"]
