"""A store with users, made by `gramme init`, and the commands that change it."""

import os
import subprocess

from server import Server, on_postgresql, program
from signing import SignedClient


def gramme(*arguments, environment=None, status=0, given=None, all_output=False):
    """The output of a command, or output and errors; of one that should fail, its errors."""
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          input=given, env={**os.environ, **(environment or {})})
    assert done.returncode == status, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr if all_output else done.stdout if status == 0 else done.stderr


def key_of(output):
    """The key that a command printed."""
    return {name: value for name, _, value in (line.partition("=") for line in output.splitlines()) if name.startswith("AWS_")}


def client(server, key, **options):
    return SignedClient(server.endpoint, key["AWS_ACCESS_KEY_ID"], key["AWS_SECRET_ACCESS_KEY"], **options)


class Installation:
    """A store with its master key, made by `gramme init`."""

    def __init__(self, directory):
        self.directory = directory
        self.store = ("--store", on_postgresql(f"rocksdb:{directory}/data"), "--master-key-file", f"{directory}/master.key")
        self.root = key_of(gramme("init", *self.store))

    def start(self, *options):
        return Server(f"rocksdb:{self.directory}/data", "--auth", "on", "--master-key-file", f"{self.directory}/master.key",
                      *options)

    def on(self, server, *arguments, **options):
        """Runs a command on the server, as root."""
        environment = {**self.root, "GRAMME_ENDPOINT": server.endpoint, **options.pop("environment", {})}
        return gramme(*arguments, environment=environment, **options)
