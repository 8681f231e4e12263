"""Exports, waited for and read back by a reader of the test's own: gzip, manifests, checksums and counts."""

import base64
import decimal
import gzip
import hashlib
import json
import pathlib
import re

from waiting import poll


class Folder:
    """A bucket that is a folder."""

    def __init__(self, directory, bucket):
        self.path = pathlib.Path(directory) / bucket

    def keys(self):
        return sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*")
                      if file.is_file() and file.relative_to(self.path).parts[0] != ".uploads")

    def read(self, key):
        return (self.path / key).read_bytes()

    def etag(self, key):
        return multipart_etag(self.read(key))


class Bucket:
    """A bucket of an S3 server, read with boto3."""

    def __init__(self, s3, bucket):
        self.s3, self.bucket = s3, bucket

    def keys(self):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return sorted(entry["Key"] for page in pages for entry in page.get("Contents", []))

    def read(self, key):
        return self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def etag(self, key):
        return self.s3.head_object(Bucket=self.bucket, Key=key)["ETag"].strip('"')


def describe(db, arn):
    return db.DescribeExport(ExportArn=arn)["ExportDescription"]


def wait_export(db, arn, seconds=60):
    """Until the export has ended; gives its description."""
    return poll(lambda: (lambda found: found["ExportStatus"] != "IN_PROGRESS" and found)(describe(db, arn)), seconds,
                f"{arn} has ended")


def table_arn(db, table):
    return db.DescribeTable(TableName=table)["Table"]["TableArn"]


def export(db, table, seconds=60, **parameters):
    """Exports a table, which must succeed; gives the description."""
    started = db.ExportTableToPointInTime(TableArn=table_arn(db, table), **parameters)["ExportDescription"]
    assert started["ExportStatus"] == "IN_PROGRESS", started
    ended = wait_export(db, started["ExportArn"], seconds)
    assert ended["ExportStatus"] == "COMPLETED", ended
    return ended


def multipart_etag(data, part=8 << 20):
    parts = [hashlib.md5(data[at:at + part]).digest() for at in range(0, max(len(data), 1), part)]
    return f"{hashlib.md5(b''.join(parts)).hexdigest()}-{len(parts)}"


def read_json_with_md5(bucket, folder, name):
    text = bucket.read(f"{folder}{name}.json")
    assert bucket.read(f"{folder}{name}.md5").decode() == base64.b64encode(hashlib.md5(text).digest()).decode()
    return text.decode()


def read_export(bucket, description):
    """All lines of an export that COMPLETED. Everything that its objects say of each other is checked."""
    manifest = description["ExportManifest"]
    folder = manifest.removesuffix("manifest-summary.json")
    prefix = description.get("S3Prefix", "").rstrip("/")
    assert folder == f"{prefix + '/' if prefix else ''}AWSDynamoDB/{description['ExportArn'].rsplit('/', 1)[1]}/"
    summary = json.loads(read_json_with_md5(bucket, folder, "manifest-summary"))
    is_incremental = description.get("ExportType") == "INCREMENTAL_EXPORT"
    assert list(summary) == ["version", "exportArn", "startTime", "endTime", "tableArn", "tableId",
                             *(["exportFromTime", "exportToTime"] if is_incremental else ["exportTime"]),
                             "s3Bucket", "s3Prefix", "s3SseAlgorithm", "s3SseKmsKeyId", "manifestFilesS3Key",
                             "billedSizeBytes", "itemCount", "outputFormat",
                             *(["outputView", "exportType"] if is_incremental else [])]
    assert summary["version"] == ("2023-08-01" if is_incremental else "2020-06-30")
    for name, member in [("exportArn", "ExportArn"), ("tableArn", "TableArn"), ("tableId", "TableId"),
                         ("s3Bucket", "S3Bucket"), ("itemCount", "ItemCount"), ("outputFormat", "ExportFormat"),
                         ("billedSizeBytes", "BilledSizeBytes"), ("s3SseAlgorithm", "S3SseAlgorithm")]:
        assert summary[name] == description[member], name
    assert summary["s3Prefix"] == description.get("S3Prefix")
    assert summary["manifestFilesS3Key"] == f"{folder}manifest-files.json"
    assert bucket.read(f"{folder}_started") == b""
    lines, count, names = [], 0, set()
    data_folder = f"{prefix + '/' if prefix else ''}AWSDynamoDB/data/" if is_incremental else f"{folder}data/"
    for text in read_json_with_md5(bucket, folder, "manifest-files").splitlines():
        entry = json.loads(text)
        assert list(entry) == ["itemCount", "md5Checksum", "etag", "dataFileS3Key"]
        ending = "ion" if description["ExportFormat"] == "ION" else "json"
        assert re.fullmatch(re.escape(data_folder) + r"[a-z2-7]{26}\." + ending + r"\.gz", entry["dataFileS3Key"])
        data = bucket.read(entry["dataFileS3Key"])
        assert entry["md5Checksum"] == base64.b64encode(hashlib.md5(data).digest()).decode()
        assert entry["etag"] == bucket.etag(entry["dataFileS3Key"])
        content = gzip.decompress(data).decode()
        assert content == "" or content.endswith("\n")
        found = content.split("\n")[:-1]
        assert len(found) == entry["itemCount"]
        lines += found
        count += entry["itemCount"]
        names.add(entry["dataFileS3Key"])
    assert count == description["ItemCount"]
    expected = names | {f"{folder}{name}" for name in ("_started", "manifest-files.json", "manifest-files.md5",
                                                       "manifest-summary.json", "manifest-summary.md5")}
    if not is_incremental:
        assert {key for key in bucket.keys() if key.startswith(folder)} == expected
    return lines


def read_items(bucket, description):
    """The items of a full export, in one order."""
    lines = read_export(bucket, description)
    if description["ExportFormat"] == "ION":
        items = [read_ion(line)["Item"] for line in lines]
    else:
        records = [json.loads(line) for line in lines]
        assert all(list(record) == ["Item"] for record in records)
        items = [record["Item"] for record in records]
    return sorted(items, key=str)


# --- Ion text, as far as exports have it ---

TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(\'(?:[^\'\\]|\\.)*\')|(\{\{[A-Za-z0-9+/=]*\}\})|(-?\d+(?:\.\d*)?(?:d-?\d+)?)'
                   r'|([A-Za-z_$][A-Za-z0-9_$]*)|(::|[{}\[\]:,]))')
ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def unescape(text):
    return re.sub(r"\\(x([0-9a-f]{2})|(.))",
                  lambda match: chr(int(match[2], 16)) if match[2] else ESCAPES.get(match[3], match[3]), text[1:-1])


def number_text(text):
    """As DynamoDB writes it: without an exponent."""
    value = decimal.Decimal(text.replace("d", "e"))
    plain = format(value, "f")
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) or "0"


class IonReader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def next(self):
        match = TOKEN.match(self.text, self.at)
        assert match, self.text[self.at:self.at + 40]
        self.at = match.end()
        return match

    def peek(self, symbol):
        match = TOKEN.match(self.text, self.at)
        return match and match[6] == symbol

    def expect(self, symbol):
        assert self.next()[6] == symbol, self.text[self.at - 10:self.at + 20]

    def sequence(self, end, read):
        found = []
        while not self.peek(end):
            if found:
                self.expect(",")
            found.append(read())
        self.expect(end)
        return found

    def field(self):
        token = self.next()
        name = unescape(token[2]) if token[2] else token[5]
        assert name is not None
        self.expect(":")
        return name, self.value()

    def value(self):
        token = self.next()
        if token[1] is not None:
            return {"S": unescape(token[1])}
        if token[3] is not None:
            return {"B": token[3][2:-2]}
        if token[4] is not None:
            assert "." in token[4] or "d" in token[4]
            return {"N": number_text(token[4])}
        if token[6] == "{":
            return {"M": dict(self.sequence("}", self.field))}
        if token[6] == "[":
            return {"L": self.sequence("]", self.value)}
        word = token[5]
        if word.startswith("$dynamodb_"):
            self.expect("::")
            kind = word.removeprefix("$dynamodb_")
            return {kind: [element[kind[0]] for element in self.value()["L"]]}
        return {"true": {"BOOL": True}, "false": {"BOOL": False}, "null": {"NULL": True}}[word]


def plain_struct(value):
    """Structs whose members are attribute values, or such structs."""
    return {name: member["M"] for name, member in value["M"].items()}


def read_ion(line):
    """{"Item": item}, or {"Record": {"Keys": .., "NewImage": ..}}."""
    assert line.startswith("$ion_1_0 ")
    reader = IonReader(line.removeprefix("$ion_1_0 "))
    value = reader.value()
    assert reader.text[reader.at:].strip() == ""
    (name, content), = value["M"].items()
    return {name: content["M"] if name == "Item" else plain_struct(content)}
