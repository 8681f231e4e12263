"""The servers that are measured: how each is started, data directory, durability guarantee."""

import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAMME = ROOT / "build" / "gramme"
LOCAL = ROOT / ".cache" / "dynamodb-local" / "11.1.0"  # as tools/setup unpacks it
START_SECONDS_MAX = 120
AUTHORIZATION = ("AWS4-HMAC-SHA256 Credential=bench/20250101/us-east-1/dynamodb/aws4_request, "
                 "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64)


def output_of(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(port, operation, body, timeout=30):
    """One request; gives status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", "/", body, {
            "X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": AUTHORIZATION,
            "X-Amz-Date": "20250101T000000Z", "Content-Type": "application/x-amz-json-1.0"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def children(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


class Peer:
    """A server in a process; its files are in self.directory, gone when it is discarded."""
    name = ""
    title = ""
    durability = ""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory) / self.name
        self.process = None
        self.port = None

    def version(self):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def answers(self):
        status, _, _ = call(self.port, "ListTables", "{}")
        return status == 200

    def start(self):
        """Gives the seconds until the first answer."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        log = open(self.directory.parent / f"{self.name}.log", "ab")
        started = time.monotonic()
        with log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.directory)
        while time.monotonic() - started < START_SECONDS_MAX:
            try:
                if self.answers():
                    return time.monotonic() - started
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.0005)
        raise SystemExit(f"{self.title} does not start; see {log.name}")

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def discard(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def pids(self):
        return [self.process.pid]

    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def resident_bytes(self):
        pages = sum(int(open(f"/proc/{pid}/statm").read().split()[1]) for pid in self.pids())
        return pages * os.sysconf("SC_PAGESIZE")

    def disk_bytes(self):
        return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(self.directory) for name in names)


class Gramme(Peer):
    name, title = "gramme", "Gramme"
    durability = "every acknowledged write is synced to disk"
    program = GRAMME

    def version(self):
        commit = output_of("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
        return f"{output_of(str(GRAMME), 'version').split()[1]} ({commit})"

    def command(self):
        return [str(self.program), "serve", "--listen", f"127.0.0.1:{self.port}", "--store",
                f"rocksdb:{self.directory}", "--log-level", "error"]


class Dynoxide(Peer):
    name, title = "dynoxide", "Dynoxide"
    durability = "a SQLite file; every write is synced (one fsync each, as strace shows)"
    program = ROOT / "tests" / "node_modules" / "@dynoxide" / "linux-x64" / "dynoxide"

    def version(self):
        return output_of(str(self.program), "--version").split()[-1]

    def command(self):
        return [str(self.program), "--port", str(self.port), "--db-path", str(self.directory / "dynoxide.db")]


class DynamoDBLocal(Peer):
    name, title = "local", "DynamoDB Local"
    durability = "a SQLite file; every write is synced (four fsyncs each, as strace shows)"

    def version(self):
        java = re.search(r'"([^"]+)"', output_of("java", "-version"))
        local = re.search(r"[0-9]+\.[0-9]+\.[0-9]+", output_of(*self.program(), "-version"))
        return f"{local[0] if local else '?'}, Java {java[1] if java else '?'}"

    @staticmethod
    def program():
        return ["java", f"-Djava.library.path={LOCAL}/DynamoDBLocal_lib", "-jar", f"{LOCAL}/DynamoDBLocal.jar"]

    def command(self):
        return [*self.program(), "-disableTelemetry", "-dbPath", str(self.directory), "-port", str(self.port)]


class Dynalite(Peer):
    name, title = "dynalite", "dynalite"
    durability = "LevelDB files; nothing is synced"
    package = ROOT / ".cache" / "dynalite" / "node_modules" / "dynalite"

    def version(self):
        package = (self.package / "package.json").read_text()
        return f"{re.search(r'.version.: .([0-9.]+)', package)[1]}, Node.js {output_of('node', '--version')}"

    def command(self):
        return ["node", str(self.package / "cli.js"), "--port", str(self.port), "--path", str(self.directory),
                "--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"]


def make_certificate(directory):
    """Files with a certificate for localhost and its key."""
    certificate, key = directory / "tls.crt", directory / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return certificate, key


class ByTls:
    """A server that also listens for TLS, reached that way."""

    def __init__(self, server):
        self.server, self.name, self.title, self.pids = server, server.name, f"{server.title} by TLS", server.pids

    def endpoint(self):
        return f"https://127.0.0.1:{self.server.tls_port}"


NGINX_CONFIGURATION = """
user {user};
worker_processes 2;
daemon off;
pid {directory}/pid;
error_log {directory}/errors;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    sendfile on;
    open_file_cache max=10;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    default_type application/x-amz-json-1.0;
    server {{
        listen 127.0.0.1:{port} reuseport;
        listen 127.0.0.1:{tls_port} ssl reuseport;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        {headers}
        location = / {{ return 200 '{item}'; }}
        location = /page {{ alias {memory}/page; }}
    }}
}}
"""


class Nginx(Peer):
    """Answers what Gramme answered, from memory: what the network path allows."""
    name, title = "nginx", "nginx"
    durability = "keeps nothing"

    def __init__(self, directory):
        super().__init__(directory)
        self.memory = pathlib.Path(f"/dev/shm/gramme-bench-{os.getpid()}")
        self.tls_port = free_port()
        self.item, self.headers, self.page = b"", {}, b""

    def learn(self, gramme, get_body, query_body):
        """Asks Gramme for what to answer."""
        status, headers, self.item = call(gramme.port, "GetItem", get_body)
        assert status == 200 and len(self.item) > 100, self.item
        self.headers = {name: headers[name] for name in ("x-amzn-RequestId", "x-amz-crc32") if name in headers}
        status, _, self.page = call(gramme.port, "Query", query_body)
        assert status == 200 and len(self.page) > 1 << 20, len(self.page)

    def version(self):
        return output_of("nginx", "-v").split("/")[-1]

    def command(self):
        self.memory.mkdir(exist_ok=True)
        (self.memory / "page").write_bytes(self.page)
        headers = "".join(f"add_header {name} {value};" for name, value in self.headers.items())
        certificate, key = make_certificate(self.directory)
        configuration = self.directory / "nginx.conf"
        configuration.write_text(NGINX_CONFIGURATION.format(
            user=output_of("id", "-un"), directory=self.directory, port=self.port, headers=headers,
            tls_port=self.tls_port, certificate=certificate, key=key, item=self.item.decode(), memory=self.memory))
        return ["nginx", "-c", str(configuration), "-e", str(self.directory / "errors")]

    def answers(self):
        status, _, body = call(self.port, "GetItem", "{}")
        return status == 200 and body == self.item

    def pids(self):
        return [self.process.pid, *children(self.process.pid)]

    def discard(self):
        super().discard()
        shutil.rmtree(self.memory, ignore_errors=True)


DATABASES = {peer.name: peer for peer in (Gramme, Dynoxide, DynamoDBLocal, Dynalite)}
