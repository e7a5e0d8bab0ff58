"""Work on a data folder that no service uses: check, repair, restore; and backup, also while one does."""
