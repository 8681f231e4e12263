"""The manual's site: its links are good, and its reference has all that the tables have."""

import html
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from server import ROOT, program

BUILD = pathlib.Path(program()).parent


@pytest.fixture(scope="module")
def manual():
    """The folder of the manual, made by tools/docs, which checks links, anchors and the navigation itself."""
    only_pages = [] if shutil.which("mkdocs") else ["--pages"]
    done = subprocess.run([ROOT / "tools/docs", *only_pages, BUILD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "manual"


def page(manual, name):
    return (manual / "pages" / name).read_text()


def names(path, pattern):
    return set(re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE))


def test_options(manual):
    listed = set(re.findall(r"`--([\w-]+)", page(manual, "reference/options.md")))
    assert listed - {"config", "help"} >= names("src/server/settings.def", r'^SETTING\(\w+, "([\w-]+)"')


def test_commands(manual):
    sections = set(re.findall(r"^## gramme (\w+)$", page(manual, "reference/commands.md"), re.MULTILINE))
    assert sections | {"help"} == names("src/cli/commands.def", r'^COMMAND\(\w+, "(\w+)"')


def test_operations(manual):
    ours = names("src/wire/ops.def", r"^OP\((\w+),") | names("src/wire/stream_ops.def", r"^OP\((\w+),")
    assert set(re.findall(r"^## (\w+)$", page(manual, "reference/parameters.md"), re.MULTILINE)) == ours
    assert set(re.findall(r"^\| \[`(\w+)`\]\S+ \| yes \|", page(manual, "reference/operations.md"), re.MULTILINE)) == ours
    assert "| `ExpressionAttributeValues` | map |" in page(manual, "reference/parameters.md")
    assert "| `TransactItems[].Put.Item` | item, required |" in page(manual, "reference/parameters.md")


def test_errors_and_metrics(manual):
    assert names("src/err/errors.def", r'^ERROR\(\w+, "(\w+)"') == set(re.findall(r"^\| `(\w+)`", page(manual, "reference/errors.md"), re.MULTILINE))
    written = names("src/meter/metrics.c", r'begin\(out, "(\w+)"') | names("src/kinesis/kinesis.c", r'\{"(gramme_\w+)", "')
    written |= names("src/server/insight_pages.c", r'"(gramme_\w+)",') | names("src/server/guard.c", r"# TYPE (gramme_\w+) counter")
    assert written == set(re.findall(r"^\| `(\w+)`", page(manual, "reference/metrics.md"), re.MULTILINE))


def test_library(manual):
    listed = set(re.findall(r"^### (\S+)$", page(manual, "reference/library.md").replace("\\_", "_"), re.MULTILINE))
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/gramme/gramme.h").read_text(), flags=re.DOTALL)
    assert listed == set(re.findall(r"\b(gramme_\w+)\(", header))


def test_site(manual):
    if shutil.which("mkdocs") is None:
        pytest.skip("mkdocs is not installed")
    start = (manual / "site/index.html").read_text()
    assert "every AWS SDK" in html.unescape(start) and "<!-- test:" not in start
    assert (manual / "site/search/search_index.json").exists()


def anchors(text):
    """What links can name in a page: its headings, as Git hosts and mkdocs write them, and ids."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading) for heading in re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings} | set(re.findall(r'<a id="([^"]+)"', text))


def test_links_of_the_tree():
    """Relative links of all Markdown files, read where they are, name files and anchors that exist."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    problems, checked = [], 0
    for name in listed:
        text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / name).read_text(), flags=re.DOTALL)
        for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            if re.match(r"\w+:", link):
                continue
            target = (ROOT / name).parent / link if link else ROOT / name
            checked += 1
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target.read_text())):
                problems.append(f"{name}: {link}#{anchor}")
    assert problems == [] and checked > 100


def test_clients():
    """The table of clients has a row for each that `make clients` tries."""
    listed = json.loads((ROOT / "docs/reference/clients.json").read_text())["clients"]
    tried = names("tests/clients/run.py", r'^    Client\("([\w-]+)"')
    assert {row["client"] for row in listed} == tried


def test_options_in_the_readme():
    settings = dict(re.findall(r'^SETTING\(\w+, "([\w-]+)", "[^"]*", "([^"]*)"', (ROOT / "src/server/settings.def").read_text(), re.MULTILINE))
    rows = re.findall(r"^\| `--([\w-]+)[^`]*` \| (?:`([^`]*)`|([\w ]+)) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(rows) > 20
    for name, code, words in rows:
        assert settings[name] == (code or {"none": "", "built in": "", "off": "off"}[words]), name


# --- the log ---


def log_texts():
    """(file, the fixed parts of the text) of each line of level warn or error."""
    call = re.compile(r'log_write(?:_fields)?\(\s*([^,]*LOG_(?:WARN|ERROR)[^,]*),\s*"\w+",(?:\s*fields,[^"]*?)?\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.DOTALL)
    for path in sorted((ROOT / "src").rglob("*.c")):
        if path.stem.endswith("_test"):
            continue
        for match in call.finditer(path.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[2]))
            parts = [part.strip(" :;,.()/") for part in re.split(r"%[-.*\d]*(?:ll|z)?[a-z]", text)]
            yield str(path.relative_to(ROOT)), [" ".join(part.split()[:4]) for part in parts if len(part) > 8]


def test_every_warning_is_explained():
    explained = (ROOT / "docs/log.md").read_text()
    texts = list(log_texts())
    assert len(texts) > 25
    missing = [f"{path}: {parts}" for path, parts in texts if parts and not any(part in explained for part in parts)]
    assert missing == [], "docs/log.md does not explain them"
