"""``python -m nbresume``: the same as the command ``nbresume``."""

from nbresume.ui.cli import main

if __name__ == "__main__":
    main()
