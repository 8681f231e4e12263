"""The commands of docs/kinesis.md, as they are printed there, with kinesalite as the Kinesis: the record that they show arrives."""

import json
import re

import pytest

from blocks import Page, Runner, blocks_for
from kinesis import Kinesis, wait_state
from wire import Client

SERVE, CREATE, ENABLE, WRITE, READ, RECORD = blocks_for("docs/kinesis.md", "tests/blackbox/test_kinesis_manual.py")


class KinesisRunner(Runner):
    """Runs the page's commands with the ports of this test."""

    def __init__(self, folder, kinesis):
        super().__init__(Page(SERVE), folder)
        self.kinesis = kinesis

    def adapt(self, text):
        return super().adapt(text).replace("127.0.0.1:4567", f"127.0.0.1:{self.kinesis.port}")

    def commands(self, text):
        self.shell_run(self.adapt(text))
        return self.output


@pytest.fixture
def runner(tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    with Kinesis(tmp_path / "kinesis") as kinesis:
        page = KinesisRunner(folder, kinesis)
        page.serve(Page("    " + SERVE).blocks[0])
        try:
            yield page
        finally:
            page.__exit__(None)


def members(value):
    """The names of the members of an object, at all depths."""
    return {name: members(one) for name, one in value.items()} if isinstance(value, dict) else None


def test_the_page(runner):
    runner.commands(CREATE)
    runner.commands(ENABLE)
    with Client(runner.environment["GRAMME_ENDPOINT"]) as db:
        wait_state(db, "Music", "ACTIVE")
    assert "music-changes" in runner.commands(ENABLE.splitlines()[-1] + "\n")
    runner.commands(WRITE)
    assert len(runner.kinesis.reader("music-changes").wait(2)) == 2
    printed = json.loads(runner.commands(READ))
    shown = json.loads(re.sub(r"\{\.\.\.\}", "{}", RECORD))
    images = (printed["dynamodb"].pop("OldImage"), printed["dynamodb"].pop("NewImage"))
    assert images == tuple({"Artist": {"S": "Nina Simone"}, "Songs": {"N": songs}} for songs in "12")
    assert (shown["dynamodb"].pop("OldImage"), shown["dynamodb"].pop("NewImage")) == ({}, {})
    assert members(printed) == members(shown)
    differing = {"eventID", "dynamodb"}
    assert {k: v for k, v in printed.items() if k not in differing} == {k: v for k, v in shown.items() if k not in differing}
    for record in (printed["dynamodb"], shown["dynamodb"]):
        assert len(str(record.pop("ApproximateCreationDateTime"))) == 13
    assert printed["dynamodb"] == shown["dynamodb"]
