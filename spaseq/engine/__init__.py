"""From queries and inputs to rows.

    for row in run(parse(text), streams={"S1": "events.trig"}, kb={"http://…/db": "kb.ttl"}):
        print(row)

`job.run` and `job.Job`, which has counters for programs that show progress, take files; `live.Engine` takes events as a
program pushes them; `described.describe` explains. Each is imported from its own place: who runs
a query does not wait for the rest.
"""
