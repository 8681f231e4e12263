#!/usr/bin/python3
"""Writes items to a server without a pause, goes on when it is away, and checks at the end that everything that was acknowledged is there.
For tools/doors.

    tests/packaging/steady_writer.py PORT

Standard input has one word per line: `phase` ends a phase, `end` ends all. After each of them a line of JSON is printed: {"acknowledged",
"failed", "longestGapMs", "refusedMs"} of the phase, and at the end {"acknowledged", "missing"} of all. A gap is a time in which no client
had a write acknowledged: `refusedMs` is the longest one in which a request failed; in others the server was there, and slow."""

import bisect
import http.client
import json
import sys
import threading
import time

CLIENTS = 4
HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z",
           "Authorization": "AWS4-HMAC-SHA256 Credential=w/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"}


def longest_ms(gaps):
    return round(max((after - before for before, after in gaps), default=0) * 1000, 1)


class Writer:
    def __init__(self, port):
        self.port, self.lock, self.is_ended = port, threading.Lock(), False
        self.acknowledged, self.times, self.failures = [], [], []
        self.call(self.connect(), "CreateTable", TableName="steady", BillingMode="PAY_PER_REQUEST",
                  AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}], KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        self.begin_phase()
        self.threads = [threading.Thread(target=self.write, args=(number,)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    @staticmethod
    def call(connection, operation, **body):
        connection.request("POST", "/", json.dumps(body), {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"{operation}: {answer.status} {text}")
        return json.loads(text)

    def write(self, number):
        """One client: a new connection after each failure."""
        count, connection = 0, None
        while not self.is_ended:
            key = f"{number}-{count}"
            count += 1
            try:
                connection = connection or self.connect()
                self.call(connection, "PutItem", TableName="steady", Item={"pk": {"S": key}, "n": {"N": str(count)}})
                with self.lock:
                    self.acknowledged.append(key)
                    self.times.append(time.monotonic())
            except (OSError, http.client.HTTPException):
                connection = None
                with self.lock:
                    self.failures.append(time.monotonic())
                time.sleep(0.002)

    def begin_phase(self):
        with self.lock:
            self.times, self.failures = [time.monotonic()], []

    def report_phase(self):
        with self.lock:
            times, failures = [*self.times, time.monotonic()], self.failures
        gaps = list(zip(times, times[1:]))
        refused = {gaps[bisect.bisect(times, failure) - 1] for failure in failures}
        print(json.dumps({"acknowledged": len(times) - 2, "failed": len(failures), "longestGapMs": longest_ms(gaps), "refusedMs": longest_ms(refused)}),
              flush=True)
        self.begin_phase()

    def end(self):
        self.is_ended = True
        for thread in self.threads:
            thread.join()
        connection, missing = self.connect(), 0
        for key in self.acknowledged:
            missing += "Item" not in self.call(connection, "GetItem", TableName="steady", Key={"pk": {"S": key}}, ConsistentRead=True)
        print(json.dumps({"acknowledged": len(self.acknowledged), "missing": missing}), flush=True)


def main():
    writer = Writer(int(sys.argv[1]))
    try:
        for line in sys.stdin:
            if line.strip() == "end":
                writer.end()
                return
            writer.report_phase()
    finally:
        writer.is_ended = True


if __name__ == "__main__":
    main()
