"""From queries and inputs to rows.

    for row in run(parse(text), streams={"S1": "events.trig"}, kb={"http://…/db": "kb.ttl"}):
        print(row)

`Job` is the same with counters, for programs that show progress; `Engine` takes events as a program
pushes them.
"""

from spaseq.engine.described import describe
from spaseq.engine.job import Job, run
from spaseq.engine.live import Engine
from spaseq.engine.options import RunOptions, Statistics

__all__ = ["Engine", "Job", "RunOptions", "Statistics", "describe", "run"]
