"""Datasets: files in, arrays out.

``get`` downloads, ``add`` takes files that you have, and ``table`` makes the arrays of a task;
``read_questions`` reads the task ``llm``, whose candidates are records.
All data is in one folder: ``LONGRANK_DATA``, or one in the user's cache.
"""

from longrank.datasets.acquisition import add, get
from longrank.datasets.download import DownloadFailed
from longrank.datasets.questions import Questions
from longrank.datasets.sources import SOURCES, File, Source, Terms
from longrank.datasets.stored import MissingData, data_folder, find
from longrank.datasets.tasks import TASKS, Table, Task, available, read_questions, table

__all__ = [
    "SOURCES",
    "TASKS",
    "DownloadFailed",
    "File",
    "MissingData",
    "Questions",
    "Source",
    "Table",
    "Task",
    "Terms",
    "add",
    "available",
    "data_folder",
    "find",
    "get",
    "read_questions",
    "table",
]
