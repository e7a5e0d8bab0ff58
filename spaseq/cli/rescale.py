"""`spaseq spark rescale`: the checkpoint of a stopped job, divided among more shards."""

from __future__ import annotations

from spaseq.cli.reporting import say


def rescale(checkpoint: str, shards: int) -> None:
    """Rewrite a checkpoint and say what to do next; raises SPAseqError and changes nothing."""
    import spaseq.spark

    spaseq.spark.require()
    from spaseq.runtime.spark.session import local_session

    with local_session("spaseq spark rescale", shards) as session:
        found = spaseq.spark.rescale(session, checkpoint, shards)
    say(f"{checkpoint}: the state of {found.before} shards is divided among {found.after}")
    say(f"start the job with --shards {shards} (SHARDS = {shards} in its file); when it runs, remove {found.kept}")
