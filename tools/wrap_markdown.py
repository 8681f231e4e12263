"""Wraps the prose of Markdown files at 120 columns, in place; --check names lines that are too long instead. Tables, code,
headings and HTML keep their lines. A paragraph without a long line stays as it is."""

import pathlib
import re
import sys

COLUMNS = 120
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +")
# What a line must not begin with, because it would begin a list, heading or quotation.
BLOCK_START = re.compile(r"([-*+#>|=]|\d+[.)])(\s|$)")
KEEPS_LINES = re.compile(r"\s*(\||#|<|!\[|\[[^]]+\]:|>)")


def words(text):
    """Splits at spaces, but not inside `code` or [link texts](...)."""
    return re.findall(r"(?:`+[^`]*`+|\[[^\]\[]*\]\([^)]*\)|\S)+", text)


def wrap(first_indent, indent, text):
    lines, line = [], first_indent
    for word in words(text):
        is_start = line.strip() == "" or line == first_indent
        if not is_start and len(line) + 1 + len(word) > COLUMNS and not BLOCK_START.match(word):
            lines.append(line)
            line = indent + word
        else:
            line += word if is_start else " " + word
    return lines + [line]


def paragraphs(lines):
    """Yields (kind, lines): kind is "text" for what may be wrapped, else "kept"."""
    block, in_fence, in_list = [], False, False
    for line in lines:
        is_fence = re.match(r"\s*(```|~~~)", line) is not None
        is_item = ITEM.match(line) is not None
        is_code = not block and not in_list and line.startswith("    ")
        keeps = in_fence or is_fence or is_code or KEEPS_LINES.match(line) or (
            in_list and not block and not is_item and re.match(r" {6,}", line))
        if keeps or line.strip() == "" or is_item:
            if block:
                yield "text", block
            block = []
        if keeps or line.strip() == "":
            yield "kept", [line]
        else:
            block.append(line)
        in_fence ^= is_fence
        in_list = is_item or (in_list and (line.strip() == "" or line.startswith("  ") or bool(block)))
    if block:
        yield "text", block


def wrapped(lines):
    out = []
    for kind, block in paragraphs(lines):
        if kind == "kept" or max(map(len, block)) <= COLUMNS or any(line.endswith(("  ", "\\")) for line in block):
            out.extend(block)
            continue
        match = ITEM.match(block[0])
        first_indent = match.group(0) if match else re.match(" *", block[0]).group(0)
        indent = " " * len(first_indent)
        text = " ".join([block[0][len(first_indent):]] + [line.strip() for line in block[1:]])
        out.extend(wrap(first_indent, indent, text))
    return out


def too_long(lines):
    """Numbers of the lines that wrapping would shorten."""
    if wrapped(lines) == lines:
        return []
    return [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS and not KEEPS_LINES.match(line)]


def main():
    check = sys.argv[1:2] == ["--check"]
    failed = False
    for name in sys.argv[2 if check else 1:]:
        path = pathlib.Path(name)
        lines = path.read_text().split("\n")
        if check:
            for number in too_long(lines):
                print(f"{name}:{number}: more than {COLUMNS} columns: run tools/wrap_markdown.py {name}", file=sys.stderr)
                failed = True
        elif wrapped(lines) != lines:
            path.write_text("\n".join(wrapped(lines)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
