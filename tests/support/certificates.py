"""Certificates for tests of TLS, made with the openssl program: an authority, and what it signs."""

import ssl
import subprocess


def _openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


class Authority:
    """self.file is its certificate; make() signs others, all in `directory`."""

    def __init__(self, directory, name="Authority"):
        self.directory = directory
        self.file = directory / f"{name}.crt"
        self.key = directory / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 30,
                 "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.file)

    def make(self, name, kind="ec"):
        """A certificate for localhost and 127.0.0.1 and its key: two files."""
        certificate, key = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        algorithm = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else ["rsa:2048"]
        _openssl("req", "-newkey", *algorithm, "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-CAcreateserial", "-days", 30,
                 "-extfile", extensions, "-out", certificate)
        key.chmod(0o600)
        return certificate, key


def client_context(authority, version=None, certificate=None):
    """What a client needs to connect: trusts `authority` alone; `certificate` is (file, key)."""
    context = ssl.create_default_context(cafile=authority.file)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context
