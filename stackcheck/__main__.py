"""`python -m stackcheck` does what the console script does."""

from stackcheck.cli import entry

if __name__ == "__main__":
    entry()
