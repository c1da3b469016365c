"""Readers of public instance formats: TSPLIB, CVRPLIB and OR-Library.

Files are data from outside: whatever is in one, a reader returns checked arrays or raises
``BrokenInstanceFile``. Sizes are checked before anything of that size is made.
"""
