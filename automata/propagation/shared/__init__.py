"""Many queries propagated together: what is equal for all of them is kept once, an event is looked at once (Hamlet)."""
