"""docs/log.md, "The server does not start": each line is what the server logs for the mistake, and it ends with status 1."""

import contextlib
import pathlib
import re
import socket
import subprocess

import pytest

from server import program

ROOT = pathlib.Path(__file__).resolve().parents[2]


def listed():
    """The lines of the section as regular expressions; "..." stands for any text, HOST and N for what they say."""
    section = (ROOT / "docs/log.md").read_text().split("## The server does not start\n")[1].split("\n## ")[0]
    lines = [code for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)]
    patterns = [re.escape(line).replace(r"\ \.\.\.", ".*").replace(r"\.\.\.", ".*") for line in lines]
    return [re.sub(r"\bHOST\b", r"\\S+", re.sub(r"\bN\b", r"\\d+", pattern)) for pattern in patterns]


def start(*options):
    """Starts a server that must fail; returns its last line, without time and level."""
    settings = {"--listen": "127.0.0.1:0", "--store": "memory:", **dict(zip(options[::2], options[1::2]))}
    run = subprocess.run([program(), "serve", *(word for setting in settings.items() for word in setting)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1, run.stdout + run.stderr
    line = re.fullmatch(r"\S+ error \w+: (.*)", (run.stdout + run.stderr).strip().split("\n")[-1])
    assert line, run.stdout + run.stderr
    return line[1]


@contextlib.contextmanager
def listener():
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def check(text, *words):
    for word in words:
        assert word in text
    assert any(re.match(pattern, text) for pattern in listed()), f"docs/log.md does not list: {text}"


def test_another_server_listens():
    with listener() as port:
        check(start("--listen", f"127.0.0.1:{port}"), "cannot listen on 127.0.0.1", str(port), "another server listens there")


@pytest.mark.parametrize("options, text", [
    (["--store", "mongodb:there"], "unknown store 'mongodb...'"),
    (["--store", "postgresql://nobody@127.0.0.1:1/none"], "cannot be reached"),
    (["--store", "rocksdb:{missing}/data"], "{missing}"),
    (["--prices", "{missing}/file"], "cannot read the prices in {missing}/file"),
    (["--prices", "{mistake}"], "the prices in {mistake} are not as in docs/prices.json"),
    (["--log-file", "{missing}/file"], "cannot open the log file {missing}/file"),
    (["--audit", "{missing}/file", "--auth", "on"], "cannot open the audit file {missing}/file"),
    (["--users", "{missing}/file", "--auth", "on"], "users file {missing}/file"),
    (["--users", "{mistake}", "--auth", "on"], "users file {mistake}"),
    (["--listen", "https://127.0.0.1:0", "--tls-cert", "{missing}/file", "--tls-key", "{mistake}"], "cannot read the TLS certificate {missing}/file"),
])
def test_a_mistake(tmp_path, options, text):
    names = {"missing": tmp_path / "missing", "mistake": tmp_path / "mistake"}
    names["mistake"].write_text('{"no": "such members"')
    names["mistake"].chmod(0o600)
    check(start(*[option.format(**names) for option in options]), text.format(**names))


def test_the_directory_of_another_program(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/notes.txt").write_text("ours")
    text = start("--store", f"rocksdb:{tmp_path}/data")
    assert "is not empty and holds no store" in text
    assert "is not empty and holds no store" in (ROOT / "docs/log.md").read_text()
