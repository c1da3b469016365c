"""``ahd problem check``: whether a problem does what the search relies on."""
