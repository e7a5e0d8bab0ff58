"""Other services, from which events come and to which rows go: what sources and sinks share."""
