"""The applications' tables, made as their documents say and used through boto3 as they would."""

import pytest


@pytest.fixture(scope="module")
def make_application_table(resource):
    """Makes a table under the document's own name; gone after the file's tests."""
    made = []

    def make(**definition):
        table = resource.create_table(**definition)
        table.wait_until_exists()
        made.append(table)
        return table
    yield make
    for table in made:
        table.delete()
        table.wait_until_not_exists()
