"""docs/tutorial-c.md: the code on the page compiles, and prints what the page says."""

import re

import pytest

from c_programs import ROOT, clean_environment, compile_program, run

PAGE = (ROOT / "docs" / "tutorial-c.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(params=[("cc", "c99"), ("cc", "c17"), ("c++", "c++17")], ids=lambda pair: pair[1])
def music(request, tmp_path, build_flags):
    compiler, standard = request.param
    source = tmp_path / ("music.cc" if compiler == "c++" else "music.c")
    source.write_text("".join(blocks("c")))
    compile_program(source, tmp_path / "music", *build_flags, compiler=compiler, standard=standard)
    return tmp_path / "music"


def check(music, url, tmp_path):
    printed, = blocks("text")
    done = run([music, url], clean_environment(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_in_process(music, tmp_path):
    check(music, "memory:", tmp_path)


def test_over_http(music, start_server, tmp_path):
    check(music, start_server().endpoint, tmp_path)
