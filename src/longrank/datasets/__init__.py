"""Datasets: files in, arrays out.

``get`` downloads, ``add`` takes files that are already there, and ``table`` makes the arrays of a
task. Everything lies in one folder: ``LONGRANK_DATA``, or else in the user's cache.
"""

from longrank.datasets.add import add
from longrank.datasets.download import DownloadFailed
from longrank.datasets.folder import data_folder
from longrank.datasets.get import get
from longrank.datasets.sources import SOURCES, File, Source, Terms
from longrank.datasets.stored import MissingData, find
from longrank.datasets.tables import Table
from longrank.datasets.tasks import TASKS, Task, available, table

__all__ = [
    "SOURCES",
    "TASKS",
    "DownloadFailed",
    "File",
    "MissingData",
    "Source",
    "Table",
    "Task",
    "Terms",
    "add",
    "available",
    "data_folder",
    "find",
    "get",
    "table",
]
