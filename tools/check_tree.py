"""Checks what no compiler does: that includes point up the list of folders only, and that subfolders do not include each other in
a cycle; that headers for use inside stay inside, that libraries appear only where they belong, and that paths named in the
documentation exist; that every source file starts with a comment, and that every function that a header declares has one; that includes are
sorted, and drawings in comments are whole; that functions stay short; that the picture of the folders shows what they include; that
Markdown has at most 120 columns."""

import pathlib
import re
import subprocess
import sys
import typing

import wrap_markdown

# Includes may point to folders that stand earlier in this list.
FOLDERS = ["base", "err", "json", "http", "auth", "aws", "objects", "model", "expr", "partiql", "wire", "archive", "codec", "plan",
           "store", "engine", "transfer", "kinesis", "meter", "api", "client", "mcp", "shell", "bench", "server", "cli"]
# Headers that only these places may include.
ONLY_IN = {
    "rocksdb/": ["src/store/rocks/"],
    "libpq-fe.h": ["src/store/pg/"],
    "uv.h": ["src/http/", "src/bench/"],
    "xxhash.h": ["src/base/"],
    "sys/random.h": ["src/base/"],
    "zlib.h": ["src/http/", "src/base/", "src/aws/", "src/archive/", "src/server/"],
    "zstd.h": ["src/archive/"],
    "lz4.h": ["src/store/image/"],
    "curl/": ["src/aws/"],
    "histedit.h": ["src/shell/"],
    "openssl/": ["src/auth/", "src/objects/", "src/archive/", "src/http/", "src/cli/", "src/bench/"],
}
# http and wire know nothing of each other, nor do the engine and JSON.
FORBIDDEN = [("engine", "json"), ("engine", "wire"), ("engine", "http"), ("model", "json"),
             ("model", "http"), ("store", "model"), ("store", "json"), ("api", "http"),
             ("http", "json"), ("client", "http"),
             *(("bench", folder) for folder in ("model", "expr", "wire", "codec", "engine", "api", "client"))]

# Lines of functions, tests apart: of the longest, and of 19 of 20. Split by idea, not by count: the caller branches, small
# functions do the straight work. Parameters: more belong into a struct.
LINES_MAX, LINES_USUAL, PARAMETERS_MAX = 60, 27, 7
PARAMETERS_GIVEN = ["leave_out"]  # RocksDB declares them

# Markdown that need not be wrapped at 120 columns: a tool writes it.
NOT_WRAPPED = ["docs/benchmarks/README.md"]

# Files that how-tos tell the reader to create, and that `make clients` writes.
TO_CREATE = ["docs/reference/clients.md", "src/store/NAME/"]

errors = []


def tracked(*patterns):
    output = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True,
                            check=True).stdout
    return output.split()


def check_include(path, line_number, target):
    where = f"{path}:{line_number}"
    for prefix, places in ONLY_IN.items():
        if target.startswith(prefix) and not any(path.startswith(place) for place in places):
            errors.append(f"{where}: {target} belongs in {' or '.join(places)} only")
    folder = path.split("/")[1]
    other = target.split("/")[0]
    if not path.startswith("src/") or other not in FOLDERS:
        return
    if FOLDERS.index(other) > FOLDERS.index(folder) or (folder, other) in FORBIDDEN:
        errors.append(f"{where}: {folder} must not include {target}")
    if target.endswith("_internal.h") and other != folder:
        errors.append(f"{where}: {target} is for use inside {other}")


def check_app_include(where, path, target):
    """Applications include the public header, apps/common, base and err; only apps/common includes http."""
    allowed = ["apps/common/", "apps/" + path.split("/")[1] + "/", "base/", "err/", "gramme/"]
    if path.startswith("apps/common/"):
        allowed.append("http/")
    if path in ("apps/main.c", "apps/options.c", "apps/options.h"):
        allowed.append("apps/")
    if not target.startswith(tuple(allowed)):
        errors.append(f"{where}: an application must not include {target}")
    if target.endswith("_internal.h") and not target.startswith("/".join(path.split("/")[:2])):
        errors.append(f"{where}: {target} is for use inside its folder")


def check_apps():
    for path in tracked("apps/*.c", "apps/*.h"):
        text = pathlib.Path(path).read_text()
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if match:
                check_app_include(f"{path}:{number}", path, match.group(1))


def check_sources():
    for path in tracked("src/*.c", "src/*.h"):
        text = pathlib.Path(path).read_text()
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r'#include [<"]([^>"]+)[>"]', line)
            if match:
                check_include(path, number, match.group(1))
        if path.endswith(".h"):
            guard = "GRAMME_" + path[4:].upper().replace("/", "_").replace(".", "_")
            if f"#ifndef {guard}\n#define {guard}\n" not in text:
                errors.append(f"{path}: the guard should be {guard}")


def folder_includes(sources):
    """The folders that each folder of src includes, subfolders apart: {folder: {other: (path, target)}}, with one include each.
    `sources` is the text of each file by path; tests may include what they like."""
    includes = {}
    for path, text in sorted(sources.items()):
        if is_test(path):
            continue
        folder = path[len("src/"):].rpartition("/")[0]
        for target in re.findall(r'^#include "([^"]+\.h)"', text, re.M):
            other = target.rpartition("/")[0]
            if other != folder and other.split("/")[0] in FOLDERS:
                includes.setdefault(folder, {}).setdefault(other, (path, target))
    return includes


def find_cycle(includes):
    """A list of folders each of which includes the next, and the last the first; [] if there is none."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):]
        if folder not in done:
            path.append(folder)
            for other in includes.get(folder, ()):
                cycle = visit(other)
                if cycle:
                    return cycle
            path.pop()
            done.add(folder)
        return []

    return next(filter(None, map(visit, includes)), [])


def top_folders(includes):
    """The folders of src that each one includes, without subfolders: {folder: {other}}."""
    tops = {}
    for folder, others in includes.items():
        tops.setdefault(folder.split("/")[0], set()).update(other.split("/")[0] for other in others)
    return {folder: others - {folder} for folder, others in tops.items()}


def reachable(arrows, start):
    """The folders at which one arrives from `start`, in one step or more."""
    found, todo = set(), [start]
    while todo:
        new = set(arrows.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


def picture_errors(dot, includes):
    """Yields where the arrows of a .dot text differ from `includes`. An arrow is an include; an include is an arrow, or several."""
    arrows = {}
    for folder, other in re.findall(r"(\w+) -> (\w+);", dot):
        arrows.setdefault(folder, set()).add(other)
        if other not in includes.get(folder, ()):
            yield f"{folder} -> {other} is no include"
    for folder, others in sorted(includes.items()):
        missing = others - reachable(arrows, folder)
        if missing:
            yield f"{folder} -> {', '.join(sorted(missing))} is missing"


def check_picture(sources):
    includes = top_folders(folder_includes(sources))
    for folder in ("mcp", "shell"):  # they use the library by its installed header
        includes[folder].add("client")
    page = "docs/internals/pictures/folders.dot"
    errors.extend(f"{page}: {error}; correct it and run tools/pictures"
                  for error in picture_errors(pathlib.Path(page).read_text(), includes))


def check_cycles(sources):
    """Folders of src, with their subfolders, include each other in one direction only."""
    includes = folder_includes(sources)
    cycle = find_cycle(includes)
    for folder, other in zip(cycle, cycle[1:] + cycle[:1]):
        path, target = includes[folder][other]
        errors.append(f"{path}: includes {target}, in a cycle of folders: {' -> '.join(cycle + cycle[:1])}")


# The parts of C text: comments, directives, strings, brackets that matter, everything else.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[{};]|\n|[^/#"\'{};\n]+|.',
                   re.S | re.M)

# What has parentheses in a declaration, but is no function: __attribute__((...)); before it also MACRO and MACRO(...).
BRACKETED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
ATTRIBUTE = re.compile(rf"__attribute__\s*{BRACKETED}")
MACROS = re.compile(rf"(?:\s*\b[A-Z][A-Z0-9_]*\b\s*(?:{BRACKETED}|(?=\w)))*\s*")


class Declaration(typing.NamedTuple):
    """A function that C text declares or defines: the numbers of its first and last line, the comment right before it ("" if none)."""
    name: str
    first: int
    last: int
    parameters: int
    comment: str
    has_body: bool


def function_head(code):
    """(name, number of parameters) of the function that `code`, the text before ";" or "{", declares; None for anything else."""
    code = ATTRIBUTE.sub(" ", code)
    code = code[MACROS.match(code).end():]
    match = re.match(r"(?!typedef\b|static_assert\b|_Static_assert\b)[^=()]*?\b(\w+)\s*\((?!\s*\*)", code)
    if match is None:
        return None
    depth, parameters = 1, 1
    for character in code[match.end():]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        parameters += character == "," and depth == 1
        if depth == 0:
            break
    return match.group(1), parameters


def functions(text):
    """The functions that C text declares or defines at its top level, in order."""
    code, comment, comment_end, code_end, first, before = "", "", 0, 0, 0, ""
    depth, number, head = 0, 1, None
    for token in TOKEN.findall(text):
        start, number = number, number + token.count("\n")
        if token.startswith(("/*", "//")):
            if depth == 0 and not code.strip() and start != code_end:
                comment, comment_end = token, number
            continue
        code_end = number if token.strip() else code_end
        if token.lstrip().startswith("#") or (depth == 0 and token == ";" and not code.strip()):
            comment = ""
        elif token == "{":
            if depth == 0:
                head = function_head(code)
            depth += 1
        elif token == "}":
            depth -= 1
        elif depth == 0 and token != ";":
            if token.strip() and not code.strip():
                first, before = start, comment if start <= comment_end + 1 else ""
            code += token
        if depth == 0 and token in ("}", ";"):
            found = head if token == "}" else function_head(code)
            if found:
                yield Declaration(found[0], first, number, found[1], before, token == "}")
            if token == ";" or found:
                code, comment, head = "", "", None


def documents(comment):
    """Whether a comment says something: not an empty one, or the title of a group of declarations (/* --- items --- */)."""
    text = comment.strip("/* \t\n")
    return bool(re.search("[a-zA-Z]", text)) and not re.match(r"[-=]{2}", text)


def undocumented(text):
    """The functions of a header without a comment right before them."""
    text = text.replace('extern "C" {', "").replace("#ifdef __cplusplus\n}", "#ifdef __cplusplus\n")
    return [function for function in functions(text) if not documents(function.comment)]


def check_comments():
    for path in tracked("*.c", "*.h"):
        text = pathlib.Path(path).read_text()
        if not text.startswith("/* "):
            errors.append(f"{path}: does not start with a comment: what it does, who calls it, on which thread")
        if path.endswith(".h"):
            errors.extend(f"{path}:{function.first}: {function.name}() has no comment" for function in undocumented(text))


def check_lengths(sources):
    """Yields what is wrong with the lengths of the functions in `sources`, the text of each file by path."""
    found = [(path, function) for path, text in sorted(sources.items()) for function in functions(text) if function.has_body]
    lengths = [function.last - function.first + 1 for _, function in found]
    for (path, function), length in zip(found, lengths):
        where = f"{path}:{function.first}: {function.name}()"
        if length > LINES_MAX:
            yield f"{where} has {length} lines: at most {LINES_MAX}"
        if function.parameters > PARAMETERS_MAX and function.name not in PARAMETERS_GIVEN:
            yield f"{where} has {function.parameters} parameters: at most {PARAMETERS_MAX}"
    long = sum(length > LINES_USUAL for length in lengths)
    if long > len(lengths) / 20:
        yield f"src: {long} of {len(lengths)} functions have more than {LINES_USUAL} lines: at most one in 20 may; split some by idea"


def is_test(path):
    return bool(re.search(r"_test(ing)?\.[ch]$", path))


def unsorted_includes(lines):
    """The numbers of the lines that include what should stand before the line above. Tables (.def) stand where they are used."""
    before = None
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include ([<"][^>"]+\.h[>"])', line)
        if match and before and match.group(1) < before:
            yield number
        before = match and match.group(1)


def torn_drawings(lines):
    """The numbers of the lines of comments that clang-format has joined, or would. Lines that draw something (rules of a grammar,
    fields of a row, columns) begin with two blanks or more, which .clang-format leaves alone; text after them begins a sentence."""
    drawn = ""
    for number, line in enumerate(lines, 1):
        match = re.match(r"\s*(?:/\*|\*)( +)(\S.*)", line)
        text = re.sub(r"\s*\*/.*", "", match.group(2)) if match else ""
        is_drawn = bool(text) and len(match.group(1)) > 1
        if text and not is_drawn and ("   " in text or (drawn and not drawn.endswith((".", ":")))):
            yield number
        drawn = text if is_drawn else ""


def check_layout():
    for path in tracked("*.c", "*.h"):
        lines = pathlib.Path(path).read_text().split("\n")
        errors.extend(f"{path}:{number}: includes of a block are sorted" for number in unsorted_includes(lines))
        errors.extend(f"{path}:{number}: begin the lines of a drawing with two blanks or more, so that clang-format keeps them"
                      for number in torn_drawings(lines))


def check_folders():
    for folder in FOLDERS:
        if tracked(f"src/{folder}/*.c") and not pathlib.Path(f"src/{folder}/README.md").exists():
            errors.append(f"src/{folder}: has no README.md")
    suites = pathlib.Path("tests/README.md").read_text()
    for folder in sorted({path.split("/")[1] for path in tracked("tests/*/*")}):
        if f"| `tests/{folder}` |" not in suites:
            errors.append(f"tests/{folder}: has no row in tests/README.md")


def check_named_docs():
    """Documents that comments of sources name must exist."""
    for path in tracked("src/*.c", "src/*.h", "apps/*.c", "apps/*.h", "include/*.h", "tests/*.c", "tests/*.h", "fuzz/*.c"):
        for name in set(re.findall(r"\bdocs/[\w./-]+\.md\b", pathlib.Path(path).read_text())):
            if not pathlib.Path(name).exists():
                errors.append(f"{path}: names {name}, which does not exist")


def check_docs():
    for path in tracked("*.md"):
        text = pathlib.Path(path).read_text()
        if path not in NOT_WRAPPED:
            errors.extend(f"{path}:{number}: more than {wrap_markdown.COLUMNS} columns: run tools/wrap_markdown.py {path}"
                          for number in wrap_markdown.too_long(text.split("\n")))
        for name in re.findall(r"`((?:src|tests|docs|tools|fuzz|include|apps)/[\w./-]+)`", text):
            if name not in TO_CREATE and not pathlib.Path(name).exists() and not (pathlib.Path(path).parent / name).exists():
                errors.append(f"{path}: names {name}, which does not exist")


def constant_value(text, name):
    """The number that C source text gives a constant: #define NAME value, NAME = value or .name = value."""
    match = re.search(rf"(?:#define\s+{name}\s+|\b{name}\s*=\s*)([^,;}}/\n]+)", text)
    if match is None:
        return None
    expression = re.sub(r"\((?:size_t|int64_t)\)|(?<=\d)[uUlL]+", "", match.group(1)).strip()
    return eval(expression) if re.fullmatch(r"[\d\s()*+<-]+", expression) else None


def check_limits():
    """docs/limits.md: the numbers are those of the constants that its rows name."""
    page = "docs/limits.md"
    rows = re.findall(r"^\|[^|]+\| ([\d,]+)[^|]*\|[^|]+\| `(\w+)` in `([^`]+)` \|$", pathlib.Path(page).read_text(), re.M)
    if len(rows) < 30:
        errors.append(f"{page}: has no rows with constants")
    for number, name, path in rows:
        value = constant_value(pathlib.Path(path).read_text(), name) if pathlib.Path(path).exists() else None
        if value != int(number.replace(",", "")):
            errors.append(f"{page}: {name} in {path} is {value}, not {number}")


def main():
    sources = {path: pathlib.Path(path).read_text() for path in tracked("src/*.c", "src/*.h")}
    check_sources()
    check_cycles(sources)
    check_picture(sources)
    errors.extend(check_lengths({path: text for path, text in sources.items() if not is_test(path)}))
    check_apps()
    check_comments()
    check_layout()
    check_folders()
    check_docs()
    check_named_docs()
    check_limits()
    print(*errors, sep="\n", end="\n" if errors else "", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
