"""``python -m pathaudit``."""

from pathaudit.cli import main

if __name__ == "__main__":
    main(prog_name="pathaudit")
