"""``python -m ahd``."""

from ahd.cli import main

if __name__ == "__main__":
    main()
