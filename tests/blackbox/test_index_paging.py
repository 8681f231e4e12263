"""A GSI whose entries all have one and the same key: 10,000 of them come out in pages of 7, each
exactly once, forward and backward, whatever the table's own key looks like."""

import pytest

from tables import pages, put_all
from values import item, values

COUNT = 10_000


@pytest.mark.parametrize("key", ["pk", "pk sk:N"])
def test_pages_through_equal_index_keys(db, make_table, key):
    table = make_table(key, gsi={"idx": ("g s", "KEYS_ONLY")})
    put_all(db, table, (item(pk=f"p{number}", sk=number, g="same", s="same")
                        for number in range(COUNT)))
    walks = []
    for forward in (True, False):
        request = {"TableName": table, "IndexName": "idx", "KeyConditionExpression": "g = :g", "Limit": 7,
                   "ExpressionAttributeValues": values(g="same"), "ScanIndexForward": forward}
        walk = []
        for page in pages(db.Query, **request):
            assert len(page["Items"]) == 7 or "LastEvaluatedKey" not in page
            walk += [each["pk"]["S"] for each in page["Items"]]
        assert len(walk) == COUNT
        assert len(set(walk)) == COUNT
        walks.append(walk)
    assert walks[0] == walks[1][::-1]
