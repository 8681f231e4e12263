"""tools/setup: which Node.js the clients of npm get."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMMANDS = ["cat", "cmp", "cp", "dirname", "env", "gzip", "id", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "tar", "uname"]
# What `npm pack` downloads, and what `npm install` makes.
NPM = """#!/bin/sh
case $1 in
pack)
    for package; do :; done
    mkdir -p package/bin
    printf '#!/bin/sh\\necho v20.20.2\\n' >package/bin/node
    chmod +x package/bin/node
    tar -czf "$(echo "$package" | sed 's/@/-/').tgz" package
    rm -r package
    ;;
install) mkdir -p node_modules ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    """A tree with package.json files, and commands among which Node.js is what a test makes it."""
    for name in ("tools", "tests/clients", "bin"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "tools/setup", tmp_path / "tools")
    for name in ("tests/package.json", "tests/clients/package.json"):
        (tmp_path / name).write_text("{}")
    for name in COMMANDS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    for name, text in {"npm": NPM, "dpkg-query": "#!/bin/sh\nprintf installed\n", "dpkg": "#!/bin/sh\n", "apt-get": "#!/bin/sh\n",
                       "sudo": '#!/bin/sh\n"$@"\n'}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("version, is_unpacked", [("v18.20.4", True), ("v9.11.2", True), ("v20.0.0", False), ("v22.1.0", False), (None, True), ("strange", True)])
def test_a_newer_node(tree, version, is_unpacked):
    """Debian's may be too old; if there is none, its version is not new enough."""
    if version is not None:
        (tree / "bin/node").write_text(f"#!/bin/sh\necho {version}\n")
        (tree / "bin/node").chmod(0o755)
    done = subprocess.run([tree / "tools/setup", "clients"], env={"PATH": str(tree / "bin"), "HOME": str(tree)}, capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 0, done
    assert ("unpacking Node.js 20.20.2" in done.stdout) == is_unpacked == (tree / ".cache/node/bin/node").exists(), done
    assert (tree / "tests/clients/node_modules/.installed").exists()
