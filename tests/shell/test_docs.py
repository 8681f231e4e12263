"""What docs/shell.md shows runs as it is shown."""

import re
import subprocess

from server import ROOT, program

DOCS = (ROOT / "docs" / "shell.md").read_text()


def session():
    """(the typed lines, the lines that must be answered) of the example."""
    block = re.search(r"```\n(gramme> .*?)```", DOCS, re.DOTALL)[1].splitlines()
    typed = [line.removeprefix("gramme> ") for line in block if line.startswith("gramme> ")]
    return typed, [line for line in block if not line.startswith("gramme> ")]


def test_session(shell):
    typed, expected = session()
    done = shell("memory:", "-t", text="\n".join(typed))
    assert done.status == 0, done.err
    assert done.lines() == [line for line in expected if not line.startswith("(")]
    shown = [re.sub(r", [\d.]+ ms", "", line) for line in expected if line.startswith("(")]
    assert [re.sub(r", [\d.]+ ms", "", line) for line in done.err.splitlines()] == shown


def test_scripts(shell, environment, start_server, tmp_path):
    """The commands of the section on scripts, on a server with the table of the example."""
    typed, _ = session()
    server = start_server()
    assert shell(server.endpoint, text="\n".join(typed)).status == 0
    block = re.search(r"## Scripts\n\n(?:<!--.*-->\n\n)?((?:    .*\n)+)", DOCS)[1]
    (tmp_path / "statements.sql").write_text('SELECT * FROM "Music";\n')
    (tmp_path / "generate").write_text("#!/bin/sh\nprintf '%s\\n' '\\tables'\n")
    (tmp_path / "generate").chmod(0o755)
    (tmp_path / "gramme").symlink_to(program())
    variables = {**environment, "GRAMME_ENDPOINT": server.endpoint, "PATH": f"{tmp_path}:{environment['PATH']}"}
    for line in block.splitlines():
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and ("Music" in done.stdout or "Nina Simone" in done.stdout), (line, done.stderr)


def test_commands_are_all_described():
    listed = set(re.findall(r'^COMMAND\(\w+, "([\w?]+)"', (ROOT / "src/shell/commands.def").read_text(), re.MULTILINE))
    table = DOCS.split("| command | |")[1].split("\n\n")[0]
    assert set(re.findall(r"`\\(\w+)", table)) == listed
