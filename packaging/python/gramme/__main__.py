"""`gramme` and `python -m gramme`: the program itself."""

import os
import sys

from gramme import program


def main():
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
