"""For unittest:

    class TestIt(gramme.testcase.DynamoDBTestCase):
        def test_it(self):
            self.dynamodb.create_table(...)        # a boto3 resource; self.dynamodb_client is a client

All test cases of a process share one server, in memory, which ends with the process. All tables are deleted after
each test."""

import atexit
import unittest
import unittest.mock

import gramme

__all__ = ["DynamoDBTestCase"]

_shared = []


class DynamoDBTestCase(unittest.TestCase):
    gramme_options = ()  # further options of `gramme serve`; a class that has some gets a server of its own

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.gramme_options:
            cls.gramme_server = gramme.start(*cls.gramme_options)
            cls.addClassCleanup(cls.gramme_server.stop)
        else:
            if not _shared:
                _shared.append(gramme.start())
                atexit.register(_shared[0].stop)
            cls.gramme_server = _shared[0]
        cls.dynamodb = cls.gramme_server.resource()
        cls.dynamodb_client = cls.gramme_server.client()
        cls.addClassCleanup(cls.dynamodb_client.close)
        cls.addClassCleanup(cls.dynamodb.meta.client.close)

    def run(self, result=None):
        """Around setUp, the test and tearDown, so that classes that override these need not call ours."""
        with unittest.mock.patch.dict("os.environ", self.gramme_server.environment()):
            try:
                return super().run(result)
            finally:
                self.gramme_server.reset()
