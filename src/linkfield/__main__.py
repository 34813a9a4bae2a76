"""``python -m linkfield`` is the command ``linkfield``."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="linkfield")
