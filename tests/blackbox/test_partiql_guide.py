"""The PartiQL examples of the DynamoDB developer guide, with boto3. Statements are as the guide has them; where an example needs data
that the guide does not show, the comment says so."""

import pytest
from boto3.dynamodb.types import TypeDeserializer

from boto_errors import condition_failed, fails_with
from tables import create_table
from values import item
from wire import Client

KEY = "WHERE Artist='Acme Band' AND SongTitle='PartiQL Rocks'"


@pytest.fixture
def guide_table(endpoint):
    """Makes a table of the guide's own name, gone after the test."""
    made = []
    with Client(endpoint) as db:
        def make(name, key):
            made.append(create_table(db, key, name=name))
        yield make
        for name in made:
            db.DeleteTable(TableName=name)


@pytest.fixture
def music(guide_table):
    guide_table("Music", "Artist SongTitle")


@pytest.fixture
def orders(guide_table, boto):
    guide_table("Orders", "OrderID:N")
    for number in (1, 100, 200, 300, 400, 500):
        boto.put_item(TableName="Orders", Item={"Image": {"B": b"x" * number}, **item(
            OrderID=number, Total=number + 50, Address="some address" if number == 100 else "7834 24th, Kirkland",
            Devices={"FireStick": {"DateWatched": ["12/1", "12/2"]}})})


def rows(boto, statement, *parameters):
    request = {"Statement": statement, **({"Parameters": list(parameters)} if parameters else {})}
    read = TypeDeserializer().deserialize
    return [{name: read(value) for name, value in row.items()} for row in boto.execute_statement(**request)["Items"]]


def numbers(boto, statement):
    return sorted(int(row["OrderID"]) for row in rows(boto, statement))


def test_getting_started(boto, music):
    boto.execute_statement(Statement="INSERT INTO Music VALUE {'Artist':'Acme Band','SongTitle':'PartiQL Rocks'}")
    assert rows(boto, f"SELECT * FROM Music {KEY}") == [{"Artist": "Acme Band", "SongTitle": "PartiQL Rocks"}]
    for change, attribute, expected in [
            ("SET AwardsWon=1 SET AwardDetail={'Grammys':[2020, 2018]}", "AwardDetail", {"Grammys": [2020, 2018]}),
            ("SET AwardDetail.Grammys =list_append(AwardDetail.Grammys,[2016])", "AwardDetail", {"Grammys": [2020, 2018, 2016]}),
            ("REMOVE AwardDetail.Grammys[2]", "AwardDetail", {"Grammys": [2020, 2018]}),
            ("SET AwardDetail.BillBoard=[2020]", "AwardDetail", {"Grammys": [2020, 2018], "BillBoard": [2020]}),
            ("SET BandMembers =<<'member1', 'member2'>>", "BandMembers", {"member1", "member2"}),
            ("SET BandMembers =set_add(BandMembers, <<'newmember'>>)", "BandMembers", {"member1", "member2", "newmember"}),
            ("SET BandMembers =set_delete(BandMembers, <<'member1'>>)", "BandMembers", {"member2", "newmember"})]:
        boto.execute_statement(Statement=f"UPDATE Music {change} {KEY}")
        assert rows(boto, f"SELECT * FROM Music {KEY}")[0][attribute] == expected, change
    boto.execute_statement(Statement=f"DELETE FROM Music {KEY}")
    assert rows(boto, f"SELECT * FROM Music {KEY}") == []


def test_data_types(boto, guide_table):
    guide_table("TypesTable", "primarykey sortkey")
    key = "WHERE \"primarykey\"='pk' AND \"sortkey\"='1'"
    boto.execute_statement(Statement="""
        INSERT INTO TypesTable value {'primarykey':'pk', 'sortkey':'1', 'NumberType':1, 'MapType' : {'entryname1': 'value',
        'entryname2': 4}, 'ListType': [1,'stringval'], 'NumberSetType':<<1,34,32,4.5>>, 'StringSetType':<<'stringval','stringval2'>>}""")
    boto.execute_statement(Statement=f"""
        UPDATE TypesTable SET NumberType=NumberType + 100 SET MapType.NewMapEntry=[2020, 'stringvalue', 2.4]
        SET ListType = LIST_APPEND(ListType, [4, <<'string1', 'string2'>>]) SET NumberSetType= SET_ADD(NumberSetType, <<345, 48.4>>)
        SET StringSetType = SET_ADD(StringSetType, <<'stringsetvalue1', 'stringsetvalue2'>>) {key}""")
    (row,) = rows(boto, f"SELECT * FROM TypesTable {key}")
    assert row["NumberType"] == 101 and row["MapType"]["NewMapEntry"][1] == "stringvalue"
    assert row["ListType"] == [1, "stringval", 4, {"string1", "string2"}] and len(row["NumberSetType"]) == 6
    boto.execute_statement(Statement=f"""
        UPDATE TypesTable SET NumberType=NumberType - 1 REMOVE ListType[1] REMOVE MapType.NewMapEntry
        SET NumberSetType = SET_DELETE( NumberSetType, <<345>>)
        SET StringSetType = SET_DELETE( StringSetType, <<'stringsetvalue1'>>) {key}""")
    (row,) = rows(boto, f"SELECT * FROM TypesTable {key}")
    assert row["NumberType"] == 100 and "NewMapEntry" not in row["MapType"] and len(row["ListType"]) == 3
    assert row["StringSetType"] == {"stringval", "stringval2", "stringsetvalue2"} and len(row["NumberSetType"]) == 5


def test_select(boto, orders):
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID = 100") == [100]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID = 100 and Address='some address'") == [100]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID = 100 or OrderID = 200") == [100, 200]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID IN [100, 300, 234]") == [100, 300]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID > 1") == [100, 200, 300, 400, 500]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE Address='some address'") == [100]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE OrderID = 200 OR Address='some address'") == [100, 200]
    assert numbers(boto, "SELECT OrderID, Total FROM \"Orders\" WHERE OrderID BETWEEN 300 and 500") == [300, 400, 500]
    ordered = rows(boto, "SELECT OrderID, Total FROM \"Orders\" WHERE OrderID IN [100, 300, 200] ORDER BY OrderID DESC")
    assert [int(row["OrderID"]) for row in ordered] == [300, 200, 100]
    assert rows(boto, "SELECT Devices.FireStick.DateWatched[0] FROM \"Orders\" WHERE OrderID = 1") == [{"DateWatched[0]": "12/1"}]


def test_functions(boto, orders, music):
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE \"OrderID\"=1 AND begins_with(\"Address\", '7834 24th')") == [1]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE \"OrderID\"=1 AND contains(\"Address\", 'Kirkland')") == [1]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE size(\"Image\") >300") == [400, 500]
    assert numbers(boto, "SELECT * FROM \"Orders\" WHERE attribute_type(\"Total\", 'N')") == [1, 100, 200, 300, 400, 500]
    boto.execute_statement(Statement="INSERT INTO \"Music\" value {'Artist' : 'Acme Band','SongTitle' : 'PartiQL Rocks'}")
    assert len(rows(boto, "SELECT * FROM Music WHERE \"Awards\" is MISSING")) == 1


def test_update_and_delete_return_items(boto, music):
    boto.execute_statement(Statement="INSERT INTO \"Music\" value {'Artist' : 'Acme Band','SongTitle' : 'PartiQL Rocks'}")
    update = f"UPDATE \"Music\" SET AwardsWon=1 SET AwardDetail={{'Grammys':[2020, 2018]}} {KEY} RETURNING "
    assert rows(boto, update + "ALL OLD *") == [{"Artist": "Acme Band", "SongTitle": "PartiQL Rocks"}]
    assert rows(boto, update + "ALL NEW *")[0]["AwardDetail"] == {"Grammys": [2020, 2018]}
    delete = "DELETE FROM \"Music\" WHERE \"Artist\" = 'Acme Band' AND \"SongTitle\" = 'PartiQL Rocks' RETURNING ALL OLD *"
    assert rows(boto, delete)[0]["AwardsWon"] == 1
    assert rows(boto, delete) == []
    with condition_failed():
        boto.execute_statement(Statement=update + "ALL OLD *")


def test_a_second_insert(boto, music):
    statement = "INSERT INTO \"Music\" value {'Artist' : 'Acme Band1','SongTitle' : 'PartiQL Rocks'}"
    boto.execute_statement(Statement=statement)
    with fails_with("DuplicateItemException"):
        boto.execute_statement(Statement=statement)


def test_transaction(boto, music):
    statements = [
        {"Statement": "EXISTS(SELECT * FROM \"Music\" where Artist='No One You Know' and SongTitle='Call Me Today' and Awards is MISSING)"},
        {"Statement": "INSERT INTO Music value {'Artist':?,'SongTitle':?}", "Parameters": [{"S": "Acme Band"}, {"S": "Best Song"}]},
        {"Statement": "UPDATE \"Music\" SET AwardsWon=1 SET AwardDetail={'Grammys':[2020, 2018]} where Artist='Acme Band' and "
                      "SongTitle='PartiQL Rocks'"}]
    with fails_with("TransactionCanceledException") as caught:
        boto.execute_transaction(TransactStatements=statements)
    assert [reason["Code"] for reason in caught.response["CancellationReasons"]] == ["ConditionalCheckFailed", "None", "None"]
    for artist, title in (("No One You Know", "Call Me Today"), ("Acme Band", "PartiQL Rocks")):
        boto.put_item(TableName="Music", Item=item(Artist=artist, SongTitle=title))
    boto.execute_transaction(TransactStatements=statements)
    assert len(rows(boto, "SELECT * FROM Music WHERE Artist='Acme Band'")) == 2
    answer = boto.execute_transaction(TransactStatements=[
        {"Statement": "SELECT * FROM \"Music\" where Artist='Acme Band' and SongTitle='Best Song'"},
        {"Statement": "SELECT AwardsWon FROM \"Music\" where Artist='Acme Band' and SongTitle='PartiQL Rocks'"}])
    assert [row["Item"] for row in answer["Responses"]] == [item(Artist="Acme Band", SongTitle="Best Song"), item(AwardsWon=1)]


def test_batch(boto, music):
    boto.put_item(TableName="Music", Item=item(Artist="Acme Band", SongTitle="PartiQL Rocks"))
    answer = boto.batch_execute_statement(Statements=[
        {"Statement": "INSERT INTO Music value {'Artist':?,'SongTitle':?}", "Parameters": [{"S": "Acme Band"}, {"S": "Best Song"}]},
        {"Statement": "UPDATE Music SET AwardsWon=1, AwardDetail={'Grammys':[2020, 2018]} where Artist='Acme Band' and "
                      "SongTitle='PartiQL Rocks'"}])
    assert answer["Responses"] == [{"TableName": "Music"}, {"TableName": "Music"}]
    assert len(rows(boto, "SELECT * FROM Music WHERE Artist='Acme Band'")) == 2


def test_limit_and_next_token(boto, orders):
    """The guide's walk through pages; boto3 has no paginator for it."""
    request = {"Statement": "SELECT OrderID FROM \"Orders\"", "Limit": 4}
    answer = boto.execute_statement(**request)
    assert len(answer["Items"]) == 4 and answer["LastEvaluatedKey"]
    rest = boto.execute_statement(NextToken=answer["NextToken"], **request)
    assert len(rest["Items"]) == 2 and "NextToken" not in rest
