"""`.clang-format`: comments are wrapped, except where they draw something."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

LONG = "Prose that is longer than the hundred columns that the format allows, so that its last words go to the next line."
DRAWING = """\
 *   key | value
 *   ----+--------
 *   abc | a line of a drawing that is longer than a hundred columns is left alone, because it cannot be broken
 *       | 2
"""


def formatted(text):
    return subprocess.run(["clang-format", f"--style=file:{ROOT}/.clang-format"], input=text, capture_output=True, text=True,
                          check=True).stdout


def test_a_drawing_keeps_its_lines():
    text = formatted(f"/* {LONG}\n{DRAWING} *\n * {LONG} */\nint x;\n")
    assert DRAWING in text
    prose = text.replace(DRAWING, "")
    assert max(map(len, prose.split("\n"))) <= 100 and LONG in prose.replace("\n *", "")
