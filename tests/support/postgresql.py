"""PostgreSQL clusters for tests: each in a folder of its own, on a free port of the loopback address,
never one that is there already. PostgreSQL refuses to run as root, so root lets the user `postgres`
of Debian's package run it."""

import contextlib
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

from loopback import free_port

BINARIES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "4GB",
    "max_wal_senders": "8",
    "wal_keep_size": "256MB",
    "hot_standby": "on",
}


def unprivileged():
    """The start of a command that runs as a user who may run PostgreSQL."""
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


class Cluster:
    """One PostgreSQL server. `primary`: it is a standby of that one. `port`: instead of a free one."""

    def __init__(self, primary=None, settings=None, port=None):
        if not BINARIES:
            raise RuntimeError("PostgreSQL is not installed (tools/setup test)")
        self.bin = BINARIES[-1]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gramme-postgresql-"))
        self.folder.chmod(0o700)
        self.data = self.folder / "data"
        self.port = port or free_port()
        self.password = primary.password if primary else secrets.token_hex(8)
        self.process = None
        try:
            if os.getuid() == 0:
                shutil.chown(self.folder, "postgres", "postgres")
            self._make(primary)
            with open(self.data / "postgresql.auto.conf", "a", encoding="utf-8") as file:
                for name, value in {**SETTINGS, "port": self.port, "unix_socket_directories": self.folder,
                                    **(settings or {})}.items():
                    file.write(f"{name} = '{value}'\n")
            self.start()
        except BaseException:
            self.close()
            raise

    def _make(self, primary):
        if primary is not None:
            self._run([self.bin / "pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast",
                       "-d", f"{primary.uri('postgres')}?application_name=standby"])
            return
        secret = self.folder / "password"
        secret.write_text(self.password, encoding="utf-8")
        if os.getuid() == 0:
            shutil.chown(secret, "postgres", "postgres")
        self._run([self.bin / "initdb", "-D", self.data, "-U", "gramme", "-A", "scram-sha-256", f"--pwfile={secret}",
                   "-E", "UTF8", "--locale=C", "-N"])
        secret.unlink()
        with open(self.data / "pg_hba.conf", "a", encoding="utf-8") as file:
            file.write("host replication gramme 127.0.0.1/32 scram-sha-256\n")

    def _run(self, command):
        done = subprocess.run([*unprivileged(), *map(str, command)], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}")

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*unprivileged(), str(self.bin / "postgres"), "-D", str(self.data)],
                                            cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        self.wait_until_ready()

    def wait_until_ready(self, seconds=60):
        deadline = time.monotonic() + seconds
        while subprocess.run([str(self.bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                             check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log()}")
            time.sleep(0.05)

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def uri(self, database="gramme"):
        return f"postgresql://gramme:{self.password}@127.0.0.1:{self.port}/{database}"

    def sql(self, text, database="postgres"):
        done = subprocess.run([str(self.bin / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", self.uri(database), "-c", text],
                              text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{text}: {done.stderr}")
        return done.stdout.strip()

    def create_database(self, name="gramme"):
        self.sql(f"CREATE DATABASE {name}")
        return self.uri(name)

    def pretend_distributed(self, name="gramme"):
        """Stores in this database act as if Citus had distributed the table: what they send is the same, but all rows are here,
        and no transaction is ever left prepared."""
        self.sql(f"ALTER DATABASE {name} SET gramme.distributed = on")
        self.sql("CREATE FUNCTION public.recover_prepared_transactions() RETURNS int LANGUAGE sql AS 'SELECT 0'", name)

    def kill(self):
        """SIGKILL of the whole server, as if the machine had ended."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], text=True, stdout=subprocess.PIPE,
                                  check=False).stdout.split()
        self.process.kill()
        for child in children:  # each has a process group of its own
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + 20  # the next start refuses as long as one of them is there
        while any(pathlib.Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def promote(self):
        self._run([self.bin / "pg_ctl", "-D", self.data, "promote", "-w"])

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def add_standby(stack, primary, port=None):
    """A standby for whose answers the primary's commits wait from then on."""
    standby = stack.enter_context(Cluster(primary=primary, port=port))
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '1 (standby)'")
    primary.sql("SELECT pg_reload_conf()")
    deadline = time.monotonic() + 30
    while primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
        if time.monotonic() > deadline:
            raise RuntimeError(f"the standby does not follow:\n{standby.log()}")
        time.sleep(0.05)
    return standby


def primary_with_standby(stack):
    """A primary whose commits wait for a standby; gives both, and the URL that finds whichever is primary."""
    primary = stack.enter_context(Cluster())
    primary.create_database()
    standby = add_standby(stack, primary)
    url = (f"postgresql://gramme:{primary.password}@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/gramme"
           "?target_session_attrs=read-write")
    return primary, standby, url


def fail_over(primary, standby):
    """The primary ends as if its machine had; the standby takes over and waits for no other."""
    primary.kill()
    standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
    standby.promote()
