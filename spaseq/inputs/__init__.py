"""From a PATH, pushed terms or columns of quads to the bytes and events of a stream."""
