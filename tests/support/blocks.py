"""The blocks of code in a Markdown page, and running them in order, as a reader would.

Fenced blocks and indented ones are found. What happens to a block follows from its language: `sh` and no language
run in one bash for the whole page, `python` and `js` as programs of their own, `json` must be JSON. An HTML comment
right before a block, invisible to readers, says what else is meant:

    <!-- test: skip REASON -->          not run; the reason says why
    <!-- test: by PATH -->              that test reads the block from the page (blocks_for) and runs or checks it
    <!-- test: output -->               what the block before it printed; `...` stands for anything
    <!-- test: output numbers -->       the same, with other numbers
    <!-- test: shows TEXT -->           the output of this block contains the text
    <!-- test: status N -->             the last command ends with this status
    <!-- test: file NAME -->            the block is the content of a file
    <!-- test: before COMMAND -->       commands that are not shown, run before the block
    <!-- test: serve -->                the block starts a server, which the rest of the page talks to
    <!-- test: needs PROGRAM -->        the block is left out if the program is not installed
    <!-- test: slow -->                 only with GRAMME_DOCS=all

and anywhere in the page, for all of it:

    <!-- test: page skip REASON -->     blocks that say nothing themselves are not run
    <!-- test: page by PATH -->         that test reads and runs them
    <!-- test: page server OPTIONS -->  the page's server has these options; FOLDER is the page's folder
    <!-- test: page without server -->  none is started
    <!-- test: page other -->           a second server, that takes the place of localhost:8001
    <!-- test: page root /etc/x ... --> these paths are folders below the page's own

A page has a folder of its own, with `gramme`, `tests/node_modules` and `apps` in it, and a server in memory that takes the place
of 127.0.0.1:8000 in commands and output."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from loopback import free_port
from server import ROOT, Server, program

MARK = re.compile(r"<!-- test: (.*?) ?-->", re.DOTALL)
ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):8000")
KINDS = {"skip", "by", "output", "shows", "status", "file", "before", "serve", "needs", "slow"}
LANGUAGES = {"", "sh", "python", "js", "json"}
BLOCK_SECONDS = 60
START_SECONDS = 30


class Problem(Exception):
    """What is wrong with a page."""


class Block:
    def __init__(self, line, language, text, marks):
        self.line, self.language, self.text = line, language, text
        self.marks = {}
        for mark in marks:
            kind, _, argument = mark.partition(" ")
            if kind not in KINDS:
                raise Problem(f"line {line}: there is no mark '{kind}'")
            self.marks.setdefault(kind, []).append(" ".join(argument.split()))

    def mark(self, kind):
        """The argument of a mark, or None."""
        return self.marks[kind][-1] if kind in self.marks else None


class Page:
    def __init__(self, text):
        self.blocks, self.settings = [], {}
        lines = text.splitlines()
        for mark in MARK.findall(text):
            words = " ".join(mark.split())
            if words.startswith("page "):
                kind, _, argument = words[len("page "):].partition(" ")
                if kind not in ("skip", "by", "server", "without", "other", "root"):
                    raise Problem(f"there is no mark 'page {kind}'")
                self.settings[kind] = argument
        self.read(lines)

    def read(self, lines):
        pending, number, previous_blank = [], 0, True
        while number < len(lines):
            line = lines[number]
            fence = re.match(r"( *)(`{3,}|~{3,})(\w*)", line)
            if fence:
                end = number + 1
                while end < len(lines) and not re.match(rf" *{fence[2]}\s*$", lines[end]):
                    end += 1
                indent = len(fence[1])
                self.add(number, fence[3], [text[indent:] for text in lines[number + 1:end]], pending)
                pending, number, previous_blank = [], end + 1, False
                continue
            if line.startswith("    ") and line.strip() and previous_blank and not self.in_list(lines, number):
                end = number
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                    end += 1
                while not lines[end - 1].strip():
                    end -= 1
                self.add(number, "", [text[4:] for text in lines[number:end]], pending)
                pending, number, previous_blank = [], end, False
                continue
            if line.lstrip().startswith("<!--"):
                start = number
                while "-->" not in lines[number]:
                    number += 1
                comment = "\n".join(lines[start:number + 1])
                pending += [mark for mark in MARK.findall(comment) if not mark.startswith("page ")]
                previous_blank = True
            elif line.strip():
                if pending:
                    raise Problem(f"line {number + 1}: a mark without a block")
                previous_blank = False
            else:
                previous_blank = True
            number += 1
        if pending:
            raise Problem("the end: a mark without a block")

    @staticmethod
    def in_list(lines, number):
        """Whether an indented line continues an item of a list."""
        for line in reversed(lines[:number]):
            if line.strip() and not line.startswith(" ") and not line.startswith("<!--"):
                return re.match(r"([-*+]|\d+\.) ", line) is not None
        return False

    def add(self, number, language, lines, marks):
        self.blocks.append(Block(number + 1, language, "\n".join(lines) + "\n", marks))


def blocks_for(page, test):
    """The texts of the blocks in a page, such as docs/client.md, that are marked `by TEST`. There is at least one."""
    found = [block.text for block in read_page(ROOT / page).blocks if block.mark("by") == test]
    assert found, f"{page} has no block by {test}"
    return found


def read_page(path):
    try:
        return Page(path.read_text())
    except Problem as problem:
        raise Problem(f"{path.relative_to(ROOT)}: {problem}") from None


def output_pattern(expected, any_numbers):
    """A regular expression for what a page says is printed."""
    lines = []
    for line in expected.rstrip().splitlines():
        line = line.rstrip()
        lines.append(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n")
    pattern = "".join(lines)
    return re.compile(re.sub(r"\d+", lambda _: r"\d+", pattern) if any_numbers else pattern)


class Runner:
    """Runs the blocks of one page in its folder."""

    def __init__(self, page, folder):
        self.page, self.folder, self.output, self.server, self.other, self.served = page, folder, "", None, None, []
        self.port, self.tls_port, self.ran, self.skipped = 0, free_port(), 0, []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GRAMME_"))},
            "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8", "PAGER": "cat",
            "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1", "AWS_PAGER": "",
            "AWS_EC2_METADATA_DISABLED": "true"}
        (folder / "bin").mkdir()
        built = pathlib.Path(program()).parent
        for tool in ("gramme", "gramme-bench", "gramme-client", "apps/gramme-apps"):
            if (built / tool).exists():
                (folder / "bin" / pathlib.Path(tool).name).symlink_to(built / tool)
        for name, target in (("node_modules", ROOT / "tests/node_modules"), ("apps", ROOT / "apps"), ("build", built), ("docs", ROOT / "docs")):
            (folder / name).symlink_to(target)
        for path in self.page.settings.get("root", "").split():
            (folder / path.strip("/")).mkdir(parents=True, exist_ok=True)
        self.shell = None

    def __enter__(self):
        if "without" not in self.page.settings:
            self.server = Server("memory:", *self.page.settings.get("server", "").replace("FOLDER", str(self.folder)).split())
            self.set_port(self.server.port)
        if "other" in self.page.settings:
            self.other = Server("memory:")
        return self

    def __exit__(self, kind, *_):
        if self.shell is not None:
            self.shell.stdin.close()
            self.shell.wait(10)
        for process, _ in self.served:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        for server in filter(None, (self.server, self.other)):
            server.__exit__(kind)

    def set_port(self, port):
        self.port = port
        self.environment["GRAMME_ENDPOINT"] = f"http://127.0.0.1:{port}"
        if self.shell is not None:
            self.shell_run(f"export GRAMME_ENDPOINT=http://127.0.0.1:{port}\n")

    def adapt(self, text):
        """Commands of a page, for this folder and server."""
        text = ADDRESS.sub(f"127.0.0.1:{self.port}", text).replace("0.0.0.0:8443", f"127.0.0.1:{self.tls_port}")
        if self.other is not None:
            text = text.replace("localhost:8001", f"127.0.0.1:{self.other.port}")
        for path in self.page.settings.get("root", "").split():
            text = re.sub(rf"(?<![\w.]){re.escape(path)}(?=[/\w-]*)", str(self.folder / path.strip("/")), text)
        return text

    def shown(self, text):
        """Output, as the page would have it."""
        text = text.replace(f"127.0.0.1:{self.port}", "127.0.0.1:8000").replace(f"localhost:{self.port}", "localhost:8000")
        for path in self.page.settings.get("root", "").split():
            text = text.replace(str(self.folder / path.strip("/")), path)
        return text

    # --- one block ---

    def run(self, block):
        reason = self.reason_to_skip(block)
        if reason is not None:
            self.skipped.append(f"line {block.line}: {reason}")
            return
        if "output" in block.marks:
            self.check_output(block)
        elif "file" in block.marks:
            (self.folder / block.mark("file")).write_text(self.adapt(block.text))
        elif block.language == "json":
            json.loads(block.text)
        else:
            for commands in block.marks.get("before", []):
                self.shell_run(self.adapt(commands) + "\n")
            self.run_program(block)
            if block.mark("shows") is not None and block.mark("shows") not in self.output:
                raise Problem(f"line {block.line}: the output does not have '{block.mark('shows')}':\n{self.output}")
        self.ran += 1

    def reason_to_skip(self, block):
        for kind in ("skip", "by"):
            if block.mark(kind) is not None:
                return f"{kind} {block.mark(kind)}"
        program_needed = block.mark("needs")
        if program_needed is not None and shutil.which(program_needed) is None:
            return f"{program_needed} is not installed"
        if "slow" in block.marks and os.environ.get("GRAMME_DOCS") != "all":
            return "slow"
        for kind in ("skip", "by"):
            if not block.marks and kind in self.page.settings:
                return f"{kind} {self.page.settings[kind]}"
        return None

    def run_program(self, block):
        if "serve" in block.marks:
            self.serve(block)
        elif block.language in ("", "sh"):
            self.shell_run(self.adapt(block.text), block)
        elif block.language in LANGUAGES:
            suffix, command = {"python": (".py", ["/usr/bin/python3"]), "js": (".mjs", ["node"])}[block.language]
            path = self.folder / f"block{block.line}{suffix}"
            path.write_text(self.adapt(block.text))
            done = subprocess.run([*command, path.name], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
                                  timeout=BLOCK_SECONDS, stdin=subprocess.DEVNULL)
            self.finish(block, done.returncode, done.stdout, done.stderr)
        else:
            raise Problem(f"line {block.line}: a block of '{block.language}' needs a mark that says what to do with it")

    def finish(self, block, status, out, err):
        self.output = self.shown(out)
        wanted = int(block.mark("status") or 0) if block is not None else 0
        if status != wanted:
            where = f"line {block.line}: " if block is not None else ""
            raise Problem(f"{where}ended with status {status} instead of {wanted}:\n{self.shown(out)}{self.shown(err)}")
        if block is not None and "status" in block.marks:
            self.output += self.shown(err)

    def shell_run(self, text, block=None):
        """Runs commands in the page's bash, which stops at the first that fails."""
        if self.shell is None:
            self.shell = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=self.folder, env=self.environment, text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.shell.stdin.write("shopt -s expand_aliases; set -o pipefail\n")
        (self.folder / "block.sh").write_text(text)
        mode = "set +e" if block is not None and "status" in block.marks else "set -e"
        self.shell.stdin.write(f"{mode}; . ./block.sh >block.out 2>block.err </dev/null; status=$?; set +e; echo ended $status\n")
        self.shell.stdin.flush()
        line = self.shell.stdout.readline()
        if line:
            status = int(line.split()[-1])
        else:
            status, self.shell = self.shell.wait(), None
        self.finish(block, status, (self.folder / "block.out").read_text(errors="replace"), (self.folder / "block.err").read_text(errors="replace"))

    def serve(self, block):
        port, log = free_port(), self.folder / "serve.log"
        environment = {**self.environment, "GRAMME_LISTEN": f"127.0.0.1:{port}"}
        for process, _ in self.served:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        self.set_port(port)
        with open(log, "wb") as output:
            process = subprocess.Popen(["bash", "-c", "exec " + self.adapt(block.text)], cwd=self.folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.served.append((process, log))
        end = time.monotonic() + START_SECONDS
        while "serves http" not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > end:
                raise Problem(f"line {block.line}: it does not serve:\n{log.read_text(errors='replace')}")
            time.sleep(0.02)
        self.output = self.shown(log.read_text(errors="replace"))

    def check_output(self, block):
        printed = "".join(line.rstrip() + "\n" for line in self.output.splitlines())
        if not output_pattern(block.text, block.mark("output") == "numbers").search(printed):
            raise Problem(f"line {block.line}: the output is another:\n{printed}")


def run_page(path, folder):
    """Runs a page. Returns (blocks that ran, reasons of those that did not)."""
    page = read_page(path)
    with Runner(page, folder) as runner:
        for block in page.blocks:
            try:
                runner.run(block)
            except (Problem, json.JSONDecodeError, subprocess.TimeoutExpired) as problem:
                raise Problem(f"{path.relative_to(ROOT)}, {problem}") from None
        return runner.ran, runner.skipped
