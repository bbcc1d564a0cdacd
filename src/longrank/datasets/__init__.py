"""Datasets: files in, arrays out.

``get`` downloads, ``add`` takes files that you have, and ``table`` makes the arrays of a task.
All data is in one folder: ``LONGRANK_DATA``, or one in the user's cache.
"""

from longrank.datasets.acquisition import add, get
from longrank.datasets.arrays import Table
from longrank.datasets.download import DownloadFailed
from longrank.datasets.folder import data_folder
from longrank.datasets.sources import SOURCES, File, Source, Terms
from longrank.datasets.stored import MissingData, find
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
