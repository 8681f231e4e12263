"""tools/check_tree.py: cycles between folders, sorted includes, drawings, comments of prototypes, lengths, the picture."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_tree  # noqa: E402


def cycle_of(*files):
    """The cycle among files that are given as "path: targets"."""
    sources = {}
    for file in files:
        path, targets = file.split(": ")
        sources["src/" + path] = "".join(f'#include "{target}"\n' for target in targets.split())
    return check_tree.find_cycle(check_tree.folder_includes(sources))


@pytest.mark.parametrize("files, cycle", [
    (["api/access/a.c: api/items/b.h", "api/items/b.h: api/access/a.h"], ["api/access", "api/items"]),
    (["api/access/a.c: api/items/b.h", "api/items/c.c: api/tables/d.h", "api/tables/e.c: api/access/a.h"],
     ["api/access", "api/items", "api/tables"]),
    (["api/dispatch.c: api/items/b.h", "api/items/b.c: api/api.h"], ["api", "api/items"]),        # a folder and its subfolder
    (["store/rocks/open/a.c: store/rocks/log/b.h", "store/rocks/log/b.c: store/rocks/open/a.h"],
     ["store/rocks/log", "store/rocks/open"]),
    (["api/access/a.c: api/items/b.h base/str.h", "api/items/b.c: api/items/b.h base/str.h"], []),  # one direction
    (["api/access/a.c: api/items/b.h", "api/items/b_test.c: api/access/a.h"], []),                # a test
])
def test_cycles(files, cycle):
    assert cycle_of(*files) == cycle


@pytest.mark.parametrize("lines, unsorted", [
    (['#include "a/b.h"', '#include "a/c.h"', '', '#include "a/a.h"'], []),          # blocks are apart
    (['#include <b.h>', '#include <a.h>'], [2]),
    (['#include "b.h"', '#include "a.h" /* why */', '#include "c.h"'], [2]),
    (['#include "b.h"', '#include "a.def"'], []),                                      # a table
])
def test_includes_are_sorted(lines, unsorted):
    assert list(check_tree.unsorted_includes(lines)) == unsorted


@pytest.mark.parametrize("lines, torn", [
    (["/* A row:", " *", " *   key | value", " *   | more", " *", " * Text. */"], []),
    (["/* A row:", " *   key |", " * value | more */"], [3]),                          # as clang-format joined them
    (["/* Steps:", " *  - one;", " *  - the last.", " * Text. */"], []),
    (["/* rule    = other */"], [1]),                                                   # would be joined
    (["/*   rule    = other */", "int a;    int b;"], []),
    (["    /* Two   columns */"], [1]),
])
def test_drawings_are_whole(lines, torn):
    assert list(check_tree.torn_drawings(lines)) == torn


@pytest.mark.parametrize("text, undocumented", [
    ("/* Does x. */\nint a(void);\n", []),
    ("int a(void);\n", ["a"]),
    ("/* Does x. */\n\nint a(void);\n", ["a"]),                                        # the comment of a group, or of the file
    ("/* Does x. */\nint a(void);\nint b(int c, int d);\n", ["b"]),
    ("/* Does x. */ int a(void);\n", []),
    ("int a(void); /* Does x. */\nint b(void);\n", ["a", "b"]),
    ("/* Does\n * x. */\nMUST_USE bool\na(struct str text,\n  int b);\n", []),          # the type on a line of its own
    ("MUST_USE bool\na(struct str text);\n", ["a"]),
    ("__attribute__((format(printf, 1, 2))) void a(const char *format, ...);\n", ["a"]),
    ("FORMAT(1, (2)) MUST_USE\nstruct str *a(void);\n", ["a"]),
    ("/* --- items --- */\nint a(void);\n", ["a"]),
    ("/* */\nint a(void);\n", ["a"]),
    ("/* ---- */\nint a(void);\n", ["a"]),
    ("static inline int a(int b)\n{\n    return c(b);\n}\n", ["a"]),
    ("struct a {\n    int (*run)(int b);\n};\ntypedef void c(int);\nextern int (*d)(void);\n#define E(x) f(x)\n", []),
    ("static_assert(sizeof(int) == 4, \"f(x);\");\nenum { A = B(1) };\nextern struct str a;\n", []),
    ('#ifdef __cplusplus\nextern "C" {\n#endif\nint a(void);\n#ifdef __cplusplus\n}\n#endif\n', ["a"]),
    ("/* Does x. */\n#ifdef X\nint a(void);\n#endif\n", ["a"]),
])
def test_prototypes_are_documented(text, undocumented):
    assert [function.name for function in check_tree.undocumented(text)] == undocumented


def function_of(lines, parameters=1, name="f"):
    return "/* Head. */\nstatic int " + name + "(" + ", ".join(["int a"] * parameters) + ")\n{\n" + "    g();\n" * (lines - 3) + "}\n"


@pytest.mark.parametrize("texts, wrong", [
    ([function_of(60)] + [function_of(27)] * 19, []),
    ([function_of(61)] + [function_of(27)] * 19, ["src/0.c:2: f() has 61 lines: at most 60"]),
    ([function_of(28)] * 2 + [function_of(27)] * 38, []),
    ([function_of(28)] * 2 + [function_of(27)] * 37,
     ["src: 2 of 39 functions have more than 27 lines: at most one in 20 may; split some by idea"]),
    ([function_of(9, 7), function_of(9, 9, "leave_out")], []),
    ([function_of(9, 8)], ["src/0.c:2: f() has 8 parameters: at most 7"]),
    (["static int f(int (*a)(int, int, int), int b,\n             int c, int d, int e, int g, int h)\n{\n}\n"], []),
    (["int f(int a, int b, int c, int d, int e, int g, int h, int i);\n"], []),        # no body
    (["#define F(a, b, c, d, e, f, g, h) \\\n    f(a) \\\n    { \\\n" + "x \\\n" * 70 + "    }\n"], []),
])
def test_functions_stay_short(texts, wrong):
    assert list(check_tree.check_lengths({f"src/{number}.c": text for number, text in enumerate(texts)})) == wrong


@pytest.mark.parametrize("dot, wrong", [
    ("a -> b; b -> c;", []),                                                            # a -> c by way of b
    ("a -> b; b -> c; a -> c;", []),
    ("a -> b; b -> c; a -> d;", ["a -> d is no include"]),
    ("a -> c;", ["a -> b is missing", "b -> c is missing"]),
])
def test_picture_shows_the_includes(dot, wrong):
    includes = check_tree.top_folders({"a": {"b/x": ("", "")}, "a/y": {"c": ("", ""), "a": ("", "")}, "b/x": {"c": ("", "")}})
    assert sorted(check_tree.picture_errors(dot, includes)) == wrong
