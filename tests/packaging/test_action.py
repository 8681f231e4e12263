"""The script of the GitHub Action (packaging/action/run.sh): starts a server, runs a command, checks access patterns."""

import io
import os
import pathlib
import subprocess
import tarfile

import pytest

from server import program

ACTION = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "action"
DDB = """ddb() {
    curl --silent --fail --show-error --output /dev/null --data "$2" --header 'Content-Type: application/x-amz-json-1.0' \\
        --header "X-Amz-Target: DynamoDB_20120810.$1" --header 'X-Amz-Date: 20200101T000000Z' \\
        --header 'Authorization: AWS4-HMAC-SHA256 Credential=t/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0' \\
        "$AWS_ENDPOINT_URL_DYNAMODB"
}
"""
CREATE = DDB + """ddb CreateTable '{"TableName": "Tasks", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}]}'"""
GET = """ddb GetItem '{"TableName": "Tasks", "Key": {"PK": {"S": "a"}}}'"""
SCAN = """ddb Scan '{"TableName": "Tasks"}'"""
CONTRACT = '{"version": 1, "patterns": [{"text": "GetItem Tasks PK = ?", "unitsMax": 0.5}]}'


def act(folder, **inputs):
    """Runs the script as the action does, with `gramme` in PATH unless a tarball is given."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "gramme").exists():
        (programs / "gramme").symlink_to(program())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GRAMME_"))}
    variables = {f"GRAMME_ACTION_{name.upper()}": value for name, value in inputs.items()}
    path = os.environ["PATH"] if "tarball" in inputs else f"{programs}:{os.environ['PATH']}"
    return subprocess.run([ACTION / "run.sh"], cwd=folder, env={**clean, **variables, "PATH": path, "TMPDIR": str(folder)}, capture_output=True,
                          text=True, timeout=120)


def test_inputs_are_those_of_the_action():
    text = (ACTION / "action.yml").read_text()
    script = (ACTION / "run.sh").read_text()
    for name in ("run", "contract", "junit", "tarball", "sha256", "options"):
        assert f"\n  {name}:\n" in text
        assert f"GRAMME_ACTION_{name.upper()}: ${{{{ inputs.{name} }}}}" in text
        assert f"GRAMME_ACTION_{name.upper()}" in script


def test_command_and_contract(tmp_path):
    (tmp_path / "patterns.json").write_text(CONTRACT)
    summary = tmp_path / "summary.md"
    os.environ["GITHUB_STEP_SUMMARY"] = str(summary)
    try:
        done = act(tmp_path, run=f"{CREATE} && {GET}", contract="patterns.json", junit="patterns.xml")
    finally:
        del os.environ["GITHUB_STEP_SUMMARY"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<testsuite" in (tmp_path / "patterns.xml").read_text()
    assert "GetItem Tasks" in summary.read_text()
    assert not list(tmp_path.glob("tmp.*"))


def test_pattern_that_the_contract_does_not_have(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "patterns.json").write_text(CONTRACT)
    done = act(tmp_path, run=f"{CREATE} && {SCAN}", contract="patterns.json")
    assert done.returncode == 1 and "Scan Tasks" in (tmp_path / "summary.md").read_text()
    assert "::error title=Gramme::the access patterns are not those of patterns.json" in done.stdout


def test_command_that_fails(tmp_path):
    done = act(tmp_path, run="exit 7")
    assert done.returncode == 1
    assert "the command ended with status 7" in done.stdout
    done = act(tmp_path, run="false\necho not reached")
    assert done.returncode == 1 and "not reached" not in done.stdout.splitlines()


@pytest.mark.parametrize("inputs, complaint", [
    ({"run": ""}, "the input 'run' is empty"),
    ({"run": "true", "contract": "missing.json"}, "the contract missing.json cannot be read"),
    ({"run": "true", "options": "--no-such-option 1"}, "the server did not start"),
    ({"run": "true", "tarball": "missing.tar.gz"}, "missing.tar.gz cannot be read"),
], ids=str)
def test_mistakes(tmp_path, inputs, complaint):
    done = act(tmp_path, **inputs)
    assert done.returncode == 1
    assert complaint in done.stdout, done.stdout + done.stderr


def make_tarball(path):
    """As tools/package makes them, with a program that only calls the one that is tested."""
    text = f'#!/bin/sh\nexec "{program()}" "$@"\n'.encode()
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo("gramme-0-linux-x86_64/bin/gramme")
        entry.mode, entry.size = 0o755, len(text)
        tar.addfile(entry, io.BytesIO(text))


def test_tarball(tmp_path):
    tarball = tmp_path / "gramme.tar.gz"
    make_tarball(tarball)
    digest = subprocess.run(["sha256sum", tarball], capture_output=True, text=True, check=True).stdout.split()[0]
    done = act(tmp_path, run="true", tarball=str(tarball), sha256=digest)
    assert done.returncode == 0, done.stdout + done.stderr
    done = act(tmp_path, run="true", tarball=str(tarball), sha256="0" * 64)
    assert done.returncode == 1
    assert "the SHA-256 of the tarball is not as given" in done.stdout
