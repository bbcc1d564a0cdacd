"""``python -m longrank``: the command line, where the command ``longrank`` is not on the path."""

from longrank.cli import main

if __name__ == "__main__":
    main()
