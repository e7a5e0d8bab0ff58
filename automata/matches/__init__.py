"""Complete matches: negation, open conditions, selection, AFTER MATCH, order, reporting."""
