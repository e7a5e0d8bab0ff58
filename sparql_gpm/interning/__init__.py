"""Terms under dense ids: as Python objects while they are few, as bytes in arrays when they are many."""
