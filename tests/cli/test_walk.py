"""A walk through the CLI's common commands, on one table from its making to its end."""

import json

import pytest

TABLE = "cli-walk"


@pytest.fixture(scope="module", autouse=True)
def table(cli):
    cli.run(f"""
        aws dynamodb create-table --table-name {TABLE} --billing-mode PAY_PER_REQUEST \
          --attribute-definitions AttributeName=artist,AttributeType=S AttributeName=song,AttributeType=S \
          --key-schema AttributeName=artist,KeyType=HASH AttributeName=song,KeyType=RANGE
        aws dynamodb wait table-exists --table-name {TABLE} >&2""")
    yield
    cli.run(f"""
        aws dynamodb delete-table --table-name {TABLE} >/dev/null
        aws dynamodb wait table-not-exists --table-name {TABLE}""")


def put(cli, artist, song, plays=0):
    item = json.dumps({"artist": {"S": artist}, "song": {"S": song}, "plays": {"N": str(plays)}})
    return cli.run(f"aws dynamodb put-item --table-name {TABLE} --item '{item}'")


def get(cli, artist, song):
    key = json.dumps({"artist": {"S": artist}, "song": {"S": song}})
    answer = cli.run(f"aws dynamodb get-item --table-name {TABLE} --key '{key}' --consistent-read")
    return answer and answer["Item"]


def test_put_get_update_delete(cli):
    assert put(cli, "No One", "Call Me") is None
    assert get(cli, "No One", "Call Me")["plays"] == {"N": "0"}
    updated = cli.run(f"""
        aws dynamodb update-item --table-name {TABLE} --return-values ALL_NEW \
          --key '{{"artist": {{"S": "No One"}}, "song": {{"S": "Call Me"}}}}' \
          --update-expression 'SET plays = plays + :one, #y = :year' \
          --condition-expression 'attribute_exists(artist)' \
          --expression-attribute-names '{{"#y": "year"}}' \
          --expression-attribute-values '{{":one": {{"N": "1"}}, ":year": {{"N": "1999"}}}}'""")
    assert updated["Attributes"]["plays"] == {"N": "1"}
    assert updated["Attributes"]["year"] == {"N": "1999"}
    gone = cli.run(f"""
        aws dynamodb delete-item --table-name {TABLE} --return-values ALL_OLD \
          --key '{{"artist": {{"S": "No One"}}, "song": {{"S": "Call Me"}}}}'""")
    assert gone["Attributes"]["year"] == {"N": "1999"}
    assert get(cli, "No One", "Call Me") is None


def test_batch_write_then_query_and_scan_with_paging(cli, make_table, tmp_path):
    songs = make_table("artist song")
    requests = {songs: [{"PutRequest": {"Item": {"artist": {"S": "Band"}, "song": {"S": f"{number:02}"},
                                                 "plays": {"N": str(number)}}}} for number in range(25)]}
    (tmp_path / "requests.json").write_text(json.dumps(requests))
    answer = cli.run(f"aws dynamodb batch-write-item --request-items file://{tmp_path}/requests.json")
    assert answer["UnprocessedItems"] == {}

    found = cli.run(f"""
        aws dynamodb query --table-name {songs} --no-scan-index-forward --max-items 3 \
          --key-condition-expression 'artist = :a AND song BETWEEN :lo AND :hi' \
          --expression-attribute-values \
            '{{":a": {{"S": "Band"}}, ":lo": {{"S": "10"}}, ":hi": {{"S": "19"}}}}'""")
    assert [each["song"]["S"] for each in found["Items"]] == ["19", "18", "17"]

    first = cli.run(f"aws dynamodb scan --table-name {songs} --page-size 4 --max-items 10")
    assert len(first["Items"]) == 10
    rest = cli.run(f"aws dynamodb scan --table-name {songs} --page-size 4 "
                   f"--starting-token {first['NextToken']}")
    assert len(rest["Items"]) == 15 and "NextToken" not in rest
    assert sorted(each["song"]["S"] for each in first["Items"] + rest["Items"]) == [
        f"{number:02}" for number in range(25)]

    counted = cli.run(f"""
        aws dynamodb scan --table-name {songs} --select COUNT --filter-expression 'plays >= :p' \
          --expression-attribute-values '{{":p": {{"N": "20"}}}}'""")
    assert (counted["Count"], counted["ScannedCount"]) == (5, 25)

    some = cli.run(f"""
        aws dynamodb batch-get-item --request-items '{{"{songs}": {{"ProjectionExpression": "plays",
          "Keys": [{{"artist": {{"S": "Band"}}, "song": {{"S": "03"}}}},
                   {{"artist": {{"S": "Band"}}, "song": {{"S": "absent"}}}}]}}}}'""")
    assert some["Responses"] == {songs: [{"plays": {"N": "3"}}]}


def test_transactions(cli):
    put(cli, "Duo", "One", 1)
    actions = [
        {"Put": {"TableName": TABLE, "Item": {"artist": {"S": "Duo"}, "song": {"S": "Two"}}}},
        {"Update": {"TableName": TABLE, "Key": {"artist": {"S": "Duo"}, "song": {"S": "One"}},
                    "UpdateExpression": "ADD plays :n", "ConditionExpression": "plays = :n",
                    "ExpressionAttributeValues": {":n": {"N": "1"}}}}]
    script = f"aws dynamodb transact-write-items --transact-items '{json.dumps(actions)}'"
    assert cli.run(script) is None
    assert get(cli, "Duo", "One")["plays"] == {"N": "2"}
    error = cli.fail(script, "TransactionCanceledException")
    assert "[None, ConditionalCheckFailed]" in error
    gets = [{"Get": {"TableName": TABLE, "Key": {"artist": {"S": "Duo"}, "song": {"S": song}}}}
            for song in ("Two", "Three")]
    answer = cli.run(f"aws dynamodb transact-get-items --transact-items '{json.dumps(gets)}'")
    assert answer["Responses"][0]["Item"]["song"] == {"S": "Two"} and answer["Responses"][1] == {}


def test_describe_list_and_update_table(cli):
    table = cli.run(f"aws dynamodb describe-table --table-name {TABLE}")["Table"]
    assert (table["TableName"], table["TableStatus"]) == (TABLE, "ACTIVE")
    assert TABLE in cli.run("aws dynamodb list-tables")["TableNames"]
    changed = cli.run(f"aws dynamodb update-table --table-name {TABLE} "
                      "--table-class STANDARD_INFREQUENT_ACCESS")
    assert changed["TableDescription"]["TableName"] == TABLE


@pytest.mark.parametrize("script, code", [
    ("get-item --table-name no-such-table --key '{\"a\": {\"S\": \"b\"}}'", "ResourceNotFoundException"),
    ("describe-table --table-name no-such-table", "ResourceNotFoundException"),
    (f"get-item --table-name {TABLE} --key '{{\"artist\": {{\"S\": \"b\"}}}}'", "ValidationException"),
    (f"create-table --table-name {TABLE} --billing-mode PAY_PER_REQUEST --attribute-definitions "
     "AttributeName=a,AttributeType=S --key-schema AttributeName=a,KeyType=HASH", "ResourceInUseException"),
    (f"delete-item --table-name {TABLE} --key '{{\"artist\": {{\"S\": \"b\"}}, \"song\": {{\"S\": \"c\"}}}}' "
     "--condition-expression 'attribute_exists(artist)'", "ConditionalCheckFailedException"),
], ids=lambda text: text.split(" ")[0])
def test_errors(cli, script, code):
    cli.fail(f"aws dynamodb {script}", code)


def test_output_as_text_and_by_query(cli):
    put(cli, "Solo", "Song", 7)
    done = cli.shell(f"""
        aws dynamodb get-item --table-name {TABLE} --output text --query Item.plays.N \
          --key '{{"artist": {{"S": "Solo"}}, "song": {{"S": "Song"}}}}'""")
    assert (done.returncode, done.stdout.strip()) == (0, "7")


def test_binary_values(cli):
    """The CLI's second version takes and shows binary as base64."""
    cli.run(f"""
        aws dynamodb put-item --table-name {TABLE} --item '{{"artist": {{"S": "Bin"}}, "song": {{"S": "B"}},
          "data": {{"B": "AP8Q"}}, "many": {{"BS": ["AQ==", "Ag=="]}}}}'""")
    found = get(cli, "Bin", "B")
    assert found["data"] == {"B": "AP8Q"} and sorted(found["many"]["BS"]) == ["AQ==", "Ag=="]
