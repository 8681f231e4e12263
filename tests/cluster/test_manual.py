"""The commands and settings of docs/many-machines.md, as they are printed there, with other hosts and passwords: a role and a database, a standby,
servers, HAProxy, a failover, `gramme copy`."""

import contextlib
import shlex
import shutil
import subprocess

from blocks import blocks_for
from haproxy import answers, haproxy, needs_haproxy
from postgresql import Cluster, fail_over, free_port
from server import ROOT, Server, program
from waiting import poll
from wire import Client, Refused

SERVE, ROLE, STANDBY, BALANCER, COPY = blocks_for("docs/many-machines.md", "tests/cluster/test_manual.py")
KEY = {"TableName": "Music", "Key": {"Artist": {"S": "Nina Simone"}}, "ConsistentRead": True}
# The page leaves these to the reader: any HAProxy has them.
HAPROXY_START = """
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
frontend dynamodb
    bind 127.0.0.1:{port}
    default_backend servers
"""


def make_role(primary):
    """The superuser of the tests is called gramme: the role and the database of the page get another name."""
    for statement in ROLE.replace("gramme", "manual").replace("'...'", f"'{primary.password}'").split(";"):
        if statement.strip():
            primary.sql(statement)


def add_standby(stack, primary):
    """The setting is in postgresql.conf of the primary, as the page says."""
    standby = stack.enter_context(Cluster(primary=primary))
    with open(primary.data / "postgresql.conf", "a", encoding="utf-8") as file:
        file.write(STANDBY)
    primary.sql("SELECT pg_reload_conf()")
    poll(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1", 60, "commits wait for the standby")
    return standby


def url_for(text, primary, hosts):
    """A URL of the page with these hosts."""
    start, _, database = text.partition("@")[2].partition("/")
    assert start and database == "gramme", text
    return f"postgresql://manual:{primary.password}@{hosts}/manual"


@contextlib.contextmanager
def balancer(servers, folder):
    port, text = free_port(), BALANCER
    for number, server in enumerate(servers, 1):
        old, = (line for line in text.splitlines() if line.strip().startswith(f"server gramme{number} "))
        text = text.replace(old, f"    server gramme{number} 127.0.0.1:{server.port}")
    with haproxy(HAPROXY_START.format(port=port) + text, folder):
        yield port


def copy_both_ways(primary, port, folder):
    """The lines of "Moving": the second goes back from the database that the first has filled."""
    there, back = (shlex.split(line) for line in COPY.splitlines())
    assert (there[0], back[0]) == ("gramme", "gramme") and there[2] == back[3] == "rocksdb:./data"
    primary.sql("CREATE DATABASE copied OWNER manual")
    url = url_for(there[3], primary, f"127.0.0.1:{port}").removesuffix("manual") + "copied"
    for source, target in ((there[2], url), (url, back[3])):
        if target == back[3]:
            shutil.move(folder / "data", folder / "moved")
        done = subprocess.run([program(), "copy", source, target], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def answer_of(port):
    """The answer to a request through this port; None if there is none, or if the server that gets it cannot serve."""
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            return client.GetItem(**KEY)
    except OSError:
        return None
    except Refused as error:
        assert error.status >= 500, error
        return None


@needs_haproxy
def test_the_manual(tmp_path):
    assert SERVE.startswith("gramme serve --store postgresql://") and (ROOT / "docs/many-machines.md").exists()
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(Cluster())
        make_role(primary)
        standby = add_standby(stack, primary)
        url = url_for(shlex.split(SERVE)[-1], primary, f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}")
        servers = [stack.enter_context(Server(url)) for _ in range(2)]
        port = stack.enter_context(balancer(servers, tmp_path))
        poll(lambda: answers(port), 20, "the balancer has found a server")
        with Client(f"http://127.0.0.1:{port}") as client:
            client.CreateTable(TableName="Music", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
                               KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}])
            client.PutItem(TableName="Music", Item=KEY["Key"])
        fail_over(primary, standby)
        # Each server notices by itself: the balancer may still choose the one that has not.
        assert poll(lambda: answer_of(port), 60, "the standby has taken over")["Item"] == KEY["Key"]
        with Server(f"rocksdb:{tmp_path / 'data'}") as server, Client(server.endpoint) as client:
            client.CreateTable(TableName="Music", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
                               KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}])
            client.PutItem(TableName="Music", Item=KEY["Key"])
        copy_both_ways(standby, standby.port, tmp_path)
        with Server(f"rocksdb:{tmp_path / 'data'}") as server, Client(server.endpoint) as client:
            assert client.GetItem(**KEY)["Item"] == KEY["Key"]
