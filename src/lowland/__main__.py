"""``python -m lowland`` is the command ``lowland``."""

from lowland.cli.main import main

if __name__ == "__main__":
    main()
