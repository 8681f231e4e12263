"""What an export writes, an import reads: the new table equals the old one."""

import os

import pytest

from backups import everything, set_recovery
from exports import export
from loads import run_import
from server import Server
from tables import create_table, put_all, unique_name
from values import item
from waiting import poll
from wire import Client, Refused

COUNT = int(os.environ.get("GRAMME_ITEMS", "2000"))
SETS = {"ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2.5"]}, "bs": {"BS": ["AAEC"]}, "b": {"B": "AP8="}, "empty": {"S": ""}}


def make_items():
    for i in range(COUNT):
        yield item(pk=f"p{i}\u00e9\n\"'", n=i, text="t" * (i % 50), none=None, yes=True, list=[1, "x", {"deep": []}]) | SETS | {"small": {"N": f"-{i}.{i}1"}}


@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
def test_round_trip(tmp_path, form):
    with Server("memory:", "--s3-directory", str(tmp_path), "--recovery-lag-ms", "0") as server, Client(server.endpoint) as db:
        table = create_table(db, gsi={"by-n": "n:N"})
        set_recovery(db, table, True)
        put_all(db, table, list(make_items()))

        def try_export():
            try:
                return export(db, table, seconds=600, S3Bucket="bucket", ExportFormat=form)
            except Refused as error:  # the recovery has just been enabled
                assert error.type in ("InvalidExportTimeException", "PointInTimeRecoveryUnavailableException",
                                      "ContinuousBackupsUnavailableException"), error
                return None
        done = poll(try_export, 30, "the table can be exported", pause=0.1)
        assert done["ItemCount"] == COUNT
        prefix = done["ExportManifest"].rsplit("/", 1)[0] + "/data/"
        name = unique_name()
        found = run_import(db, name, bucket="bucket", prefix=prefix, format=form, InputCompressionType="GZIP", gsi={"by-n": "n:N"})
        assert (found["ImportStatus"], found["ImportedItemCount"], found["ErrorCount"]) == ("COMPLETED", COUNT, 0), found
        assert everything(db, name) == everything(db, table)
