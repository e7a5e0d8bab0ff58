"""Sources and sinks at work beside the core, which knows of them what `Connections` has."""
