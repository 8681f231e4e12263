"""Every command and block of code in README.md and the manual runs (tests/support/blocks.py says how blocks are marked)."""

import re

import pytest

from blocks import Page, Problem, read_page, run_page
from server import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "packaging").rglob("README.md"))]
WITH_BLOCKS = [path for path in PAGES if read_page(path).blocks]
FENCE = "```"


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=name)
def test_page(path, tmp_path):
    ran, skipped = run_page(path, tmp_path)
    print(f"{name(path)}: {ran} blocks ran", *skipped, sep="\n")
    assert ran + len(skipped) > 0


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=name)
def test_marks_name_tests_that_read_the_page(path):
    page = read_page(path)
    tests = {page.settings.get("by")} | {block.mark("by") for block in page.blocks}
    for test in tests - {None}:
        assert name(path) in (ROOT / test).read_text(), f"{test} does not read {name(path)}"
    for block in page.blocks:
        assert block.mark("skip") is None or len(block.mark("skip")) > 10, f"{name(path)}, line {block.line}: no reason"


# --- the runner itself ---


def run_text(text, folder):
    path = ROOT / "docs" / f".{folder.name}.md"
    path.write_text(text)
    try:
        return run_page(path, folder)
    finally:
        path.unlink()


@pytest.mark.parametrize("text, problem", [
    (f"{FENCE}sh\nfalse\ntrue\n{FENCE}\n", "ended with status 1"),
    ("    gramme shell -c 'SELECT * FROM Nowhere'\n", "ResourceNotFoundException"),
    (f"{FENCE}sh\necho a\n{FENCE}\n\n<!-- test: output -->\n{FENCE}text\nb\n{FENCE}\n", "the output is another"),
    (f"<!-- test: shows b -->\n{FENCE}sh\necho a\n{FENCE}\n", "the output does not have 'b'"),
    (f"<!-- test: status 2 -->\n{FENCE}sh\nfalse\n{FENCE}\n", "status 1 instead of 2"),
    (f"{FENCE}json\n{{a: 1}}\n{FENCE}\n", "line 1 column 2"),
    (f"{FENCE}python\nassert False\n{FENCE}\n", "AssertionError"),
    (f"{FENCE}js\nthrow new Error('no')\n{FENCE}\n", "Error: no"),
    (f"{FENCE}yaml\na: 1\n{FENCE}\n", "needs a mark"),
    (f"<!-- test: maybe -->\n{FENCE}sh\ntrue\n{FENCE}\n", "there is no mark 'maybe'"),
    ("<!-- test: skip it is long -->\n\ntext\n", "a mark without a block"),
    (f"<!-- test: serve -->\n{FENCE}sh\ngramme serve --nothing\n{FENCE}\n", "does not serve"),
])
def test_problems_are_found(text, problem, tmp_path):
    with pytest.raises(Problem, match=re.escape(problem)):
        run_text(text, tmp_path)


def test_state_goes_from_block_to_block(tmp_path):
    text = f"""<!-- test: page root /var/lib/x -->
    export WHO=world
    alias say='echo hello'

<!-- test: file /var/lib/x/file -->
{FENCE}text
content
{FENCE}

{FENCE}sh
say $WHO
cat /var/lib/x/file
curl -s http://127.0.0.1:8000/
{FENCE}

<!-- test: output -->
    hello world
    ...
    healthy: dynamodb...

- a list

    with a paragraph that is no block

<!-- test: serve -->
{FENCE}sh
gramme serve --store memory: --listen 127.0.0.1:8000
{FENCE}

<!-- test: shows Music -->
{FENCE}sh
gramme shell -c '\\create Music Artist'
gramme shell -c '\\tables'
{FENCE}

<!-- test: skip for a test of the runner -->
{FENCE}sh
false
{FENCE}
"""
    text = text.replace("<!-- test: file /var/lib/x/file -->", "<!-- test: file var/lib/x/file -->")
    ran, skipped = run_text(text, tmp_path)
    assert (ran, skipped) == (6, ["line 37: skip for a test of the runner"])


def test_blocks_of_lists_and_fences():
    page = Page(f"- item\n\n  {FENCE}sh\n  a\n  {FENCE}\n\n- other\n\n      code of a list\n\nText\n\n    b\n\n    c\n\nText\n")
    assert [(block.line, block.text) for block in page.blocks] == [(3, "a\n"), (13, "b\n\nc\n")]
