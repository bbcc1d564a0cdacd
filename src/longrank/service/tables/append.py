"""Appending to the log: many rows in one statement."""

from __future__ import annotations

from longrank.service.errors import Duplicate
from longrank.service.records import Draft, Entry
from longrank.service.sessions import Session
from longrank.service.tables.log import COLUMNS

# A decision needs its model, an outcome its decision: neither may have been dropped meanwhile.
_PARENT = (
    "(v.column3 = 0 AND EXISTS(SELECT 1 FROM models m WHERE m.model = v.column2)) OR "
    "(v.column3 = 1 AND EXISTS(SELECT 1 FROM log d WHERE d.model = v.column2 "
    "AND d.id = v.column4 AND d.kind = 0))"
)
_MOST_ROWS = 128
_APPENDS = {
    count: f"INSERT INTO log({COLUMNS}) SELECT * FROM (VALUES "
    + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * count)
    + f") AS v WHERE {_PARENT} ON CONFLICT DO NOTHING"
    for count in (2**power for power in range(_MOST_ROWS.bit_length()))
}


def last_number(session: Session) -> int:
    """The number that was given last."""
    return int(session.execute("SELECT seq FROM counter")[0][0])


def append_all(session: Session, drafts: list[Draft]) -> list[Entry | Duplicate]:
    """Append what can be; the entry of each draft, or that it could not be appended."""
    # the row's lock makes the order of numbers that of commits
    sql = "UPDATE counter SET seq = seq + ? RETURNING seq"
    first = session.execute(sql, (len(drafts),))[0][0] - len(drafts) + 1
    entries = [Entry(first + i, *draft[:6]) for i, draft in enumerate(drafts)]
    there = _insert(session, entries)
    return [
        entry if entry.seq in there else Duplicate(f"{entry.id} cannot be appended")
        for entry in entries
    ]


def _insert(session: Session, entries: list[Entry]) -> set[int]:
    """The numbers of those that are in the log now.

    Many rows go into one statement, as each statement costs a change of threads.
    """
    there: set[int] = set()
    first = 0
    while first < len(entries):
        count = min(_MOST_ROWS, 1 << ((len(entries) - first).bit_length() - 1))
        chunk = entries[first : first + count]
        first += count
        args = [value for entry in chunk for value in (*entry, entry.sum())]
        if session.change(_APPENDS[count], args) == count:
            there.update(entry.seq for entry in chunk)
            continue
        sql = "SELECT seq FROM log WHERE seq >= ? AND seq <= ?"
        there.update(seq for (seq,) in session.execute(sql, (chunk[0].seq, chunk[-1].seq)))
    return there
