"""The parts of compose.cluster.yaml without containers: the scripts of the primary and of the standby on PostgreSQL servers of this machine,
servers with the URL of the file, and HAProxy with its configuration. Names of containers become ports of the loopback address.
The images themselves are not tried here; tools/doors builds the one of Gramme."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from haproxy import answers, haproxy, needs_haproxy
from postgresql import BINARIES, Cluster, free_port, unprivileged
from server import Server
from waiting import poll
from wire import Client, Refused

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "packaging/container"
KEY = {"TableName": "Music", "Key": {"pk": {"S": "a"}}, "ConsistentRead": True}


def allow_replication(primary):
    """As the image of PostgreSQL runs it: once, with PGDATA set, before the next start. The user postgres may not read the clone."""
    with open(FOLDER / "allow-replication.sh", "rb") as script:
        subprocess.run([*unprivileged(), "sh"], stdin=script, cwd="/", env={**os.environ, "PGDATA": str(primary.data)}, check=True)
    primary.stop()
    primary.start()


@contextlib.contextmanager
def start_standby(primary, folder):
    """start-standby.sh with this machine's folder and ports; gives the port of the standby."""
    port, data = free_port(), folder / "data"
    data.mkdir()
    if os.getuid() == 0:
        folder.chmod(0o755)
        shutil.chown(data, "postgres", "postgres")
    script = (FOLDER / "start-standby.sh").read_text()
    for old, new in (("data=/var/lib/postgresql/data", f"data={data}"), ("host=db1 ", f"host=127.0.0.1 port={primary.port} "),
                     ("exec postgres ", f"exec postgres -c port={port} -c unix_socket_directories={data} ")):
        assert old in script
        script = script.replace(old, new)
    (folder / "standby.sh").write_text(script)
    with open(folder / "standby.log", "wb") as log:
        process = subprocess.Popen([*unprivileged(), "sh", folder / "standby.sh"], stdout=log, stderr=log, cwd=data,
                                   env={**os.environ, "PATH": f"{BINARIES[-1]}:{os.environ['PATH']}", "PGPASSWORD": primary.password})
    try:
        poll(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1", 60, "commits wait for the standby")
        yield port
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(30)


def store_url(primary, standby_port):
    """GRAMME_STORE of the servers."""
    url = re.search(r'GRAMME_STORE: "(postgresql://gramme@db1,db2/gramme)"', (FOLDER / "compose.cluster.yaml").read_text())[1]
    return url.replace("gramme@", f"gramme:{primary.password}@").replace("db1,db2", f"127.0.0.1:{primary.port},127.0.0.1:{standby_port}")


@contextlib.contextmanager
def balancer(servers, folder):
    """HAProxy with the file of the cluster; gives its port."""
    port, text = free_port(), (FOLDER / "haproxy.cfg").read_text()
    text = text.replace("bind :8000", f"bind 127.0.0.1:{port}")
    for number, server in enumerate(servers, 1):
        assert f"gramme{number}:8000" in text
        text = text.replace(f"gramme{number}:8000", f"127.0.0.1:{server.port}")
    with haproxy(text, folder):
        yield port


def answer_of(port, operation, request):
    """The answer to a request through this port; None if there is none, or if the server that gets it cannot serve."""
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            return client.call(operation, request)
    except OSError:
        return None
    except Refused as error:
        assert error.status >= 500, error
        return None


@needs_haproxy
def test_cluster_without_containers():
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gramme-compose-")))  # where the user postgres may look
        primary = stack.enter_context(Cluster(settings={"max_connections": 100}))
        primary.create_database()
        allow_replication(primary)
        standby_port = stack.enter_context(start_standby(primary, folder))
        url = store_url(primary, standby_port)
        servers = [stack.enter_context(Server(url)) for _ in range(3)]
        port = stack.enter_context(balancer(servers, folder))
        poll(lambda: answers(port), 20, "the balancer has found a server")
        client = stack.enter_context(Client(f"http://127.0.0.1:{port}"))
        client.CreateTable(TableName="Music", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                           KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        client.PutItem(TableName="Music", Item={"pk": {"S": "a"}, "n": {"N": "1"}})
        for server in servers:
            with Client(server.endpoint) as direct:
                assert direct.GetItem(**KEY)["Item"]["n"] == {"N": "1"}
        primary.kill()
        subprocess.run([*unprivileged(), BINARIES[-1] / "pg_ctl", "promote", "-w", "-D", folder / "data/standby"], check=True, capture_output=True)
        # Each server notices by itself: the balancer may still choose one that has not.
        found = poll(lambda: answer_of(port, "GetItem", KEY), 60, "the standby has taken over")
        assert found["Item"]["n"] == {"N": "1"}
        poll(lambda: answer_of(port, "PutItem", {"TableName": "Music", "Item": {"pk": {"S": "a"}, "n": {"N": "2"}}}) is not None, 60, "it takes writes")
