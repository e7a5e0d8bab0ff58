"""Sources: where the events of a stream come from, if they are not pushed over HTTP."""
