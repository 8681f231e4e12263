"""Checks that a text which clients of the server can read stands in one file: messages that several files report belong in
src/err/messages.h, where a change of the words reaches all of them. A text is a string literal of two words and 12 characters
or more, with the literals that follow it directly; sources of the programs that only print (FOR_OPERATORS) and of tests are not read."""

import collections
import pathlib
import re
import subprocess
import sys

# The store reports failures of disks and databases to the log; the other folders are commands, which print to a terminal.
FOR_OPERATORS = ("src/store/", "src/bench/", "src/client/", "src/mcp/", "src/shell/", "src/cli/")

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|{LITERAL}(?:\s*{LITERAL})*", re.S)


def texts_of(source):
    """Yields (line number, text) of each text in C source text."""
    source = re.sub(r"^#include.*$", "", source, flags=re.M).replace("\\\n", " \n")
    for match in TOKEN.finditer(source):
        text = "".join(literal[1:-1] for literal in re.findall(LITERAL, match.group()))
        if len(text) >= 12 and match.group().startswith('"') and re.search(r"[A-Za-z]{2,}\W* \W*[A-Za-z]{2,}", text):
            yield source.count("\n", 0, match.start()) + 1, text


def is_read(path):
    return not path.startswith(FOR_OPERATORS) and not re.search(r"_test(ing)?\.[ch]$", path)


def repeated(sources):
    """The complaints about `sources`: text of each file by path."""
    places = collections.defaultdict(dict)
    for path, source in sources.items():
        for number, text in texts_of(source) if is_read(path) else ():
            places[text].setdefault(path, number)
    return [f"{path}:{number}: \"{text}\" also stands in {', '.join(sorted(set(found) - {path}))}: give it a name, in src/err/messages.h or in a header of the folder"
            for text, found in places.items() if len(found) > 1 for path, number in list(found.items())[:1]]


def main():
    names = subprocess.run(["git", "ls-files", "src/*.c", "src/*.h", "src/*.def"], capture_output=True, text=True, check=True).stdout
    complaints = repeated({path: pathlib.Path(path).read_text() for path in names.split()})
    print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
