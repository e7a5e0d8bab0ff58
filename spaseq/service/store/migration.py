"""The database of release 0.1.0, made anew: its entries get checksums, and come from no known place in the log."""

from __future__ import annotations

from secrets import randbits

from spaseq.service.log.groups import UNLINKED
from spaseq.service.store.tables import VERSION, Connection, checked, insert, statements
from spaseq.service.store.writes import LETTERS, store

RELEASED_PART = "0.1.0"
"""The name of the one part of its snapshots."""
_TABLES = ("meta", "rows", "newest", "failed", "delivered", "letters", "snapshot")
_OLDEST = "select coalesce(min(n), ?) from released_{} where {}"


def migrate(write: Connection) -> None:
    """Make the tables anew, within a transaction. Raises sqlite3.Error."""
    for table in _TABLES:
        write.execute(f"alter table {table} rename to released_{table}")
    for statement in statements():
        write.execute(statement)
    place = (0, UNLINKED)
    rows = write.execute("select query, n, at, text from released_rows")
    write.executemany(insert("rows"), (checked("rows", query, n, at, *place, text) for query, n, at, text in rows))
    letters = write.execute("select n, at, text from released_letters")
    write.executemany(insert("letters"), (checked("letters", n, at, *place, text) for n, at, text in letters))
    for query, newest in write.execute("select query, n from released_newest").fetchall():
        of = _OLDEST.format(*(("letters", "true") if query == LETTERS else ("rows", f"query = {query}")))
        (oldest,) = write.execute(of, (newest + 1,)).fetchone()
        store(write, "kept", query, oldest, newest)
    for table in ("failed", "delivered"):
        for entry in write.execute(f"select * from released_{table}").fetchall():
            store(write, table, *entry)
    for part, number, body in write.execute("select part, number, body from released_snapshot").fetchall():
        store(write, "snapshot", f"{RELEASED_PART} {part}", number, UNLINKED, body)
    (read,) = write.execute("select coalesce(max(value), 0) from released_meta where key = 'read'").fetchone()
    store(write, "meta", "read", read)
    store(write, "meta", "version", VERSION)
    store(write, "meta", "folder", randbits(62))
    for table in _TABLES:
        write.execute(f"drop table released_{table}")
