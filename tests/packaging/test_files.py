"""Files of the container and of the Debian package that can be checked without installing them. tools/doors builds and runs both."""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from c_programs import sanitizer_flags
from server import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "container"


BUILD = pathlib.Path(program()).parent


def load_tool(name):
    """A script of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@pytest.mark.parametrize("name", ["compose.yaml", "compose.cluster.yaml"])
def test_files_of_compose_are_there(name):
    text = (FOLDER / name).read_text()
    for path in re.findall(r"- (\./[\w.-]+):", text):
        assert (FOLDER / path).exists(), path
    assert (ROOT / "packaging/container/Containerfile").exists()
    for path in re.findall(r"dockerfile: (\S+)", text):
        assert (FOLDER / "../.." / path).exists(), path


def test_compose_files_are_yaml():
    yaml = pytest.importorskip("yaml")
    one = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert one["services"]["gramme"]["ports"] == ["127.0.0.1:8000:8000"]
    cluster = yaml.safe_load((FOLDER / "compose.cluster.yaml").read_text())
    assert set(cluster["services"]) == {"db1", "db2", "gramme1", "gramme2", "gramme3", "balancer"}
    assert cluster["services"]["gramme2"]["environment"]["GRAMME_STORE"] == "postgresql://gramme@db1,db2/gramme"


def test_debian_package_needs_the_console(tmp_path):
    """Without its npm packages the build of the package fails, instead of making a server without the console."""
    installed = "console/node_modules/.installed"
    rules = ["make", "-f", ROOT / "packaging/debian/rules", installed]
    done = subprocess.run(rules, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "npm packages of the console are missing" in done.stderr
    (tmp_path / installed).parent.mkdir(parents=True)
    (tmp_path / installed).touch()
    subprocess.run(rules, cwd=tmp_path, capture_output=True, check=True)
    text = (ROOT / "packaging/debian/rules").read_text()
    assert re.search(rf"^override_dh_auto_configure:.*{re.escape(installed)}", text, re.MULTILINE)


def test_notices_of_the_debian_package():
    """It has those of the libraries that are linked in as archives, and of the console's packages."""
    packages = load_tool("package")
    if not sanitizer_flags():  # these builds link shared libraries
        rule = (BUILD / "build.ninja").read_text().split("\nbuild gramme: c_LINKER ")[1]
        archives = re.findall(r" /usr/\S+/(lib\w+)\.a\b", re.search(r"^ LINK_ARGS = (.*)$", rule, re.MULTILINE)[1])
        assert {f"{name}-dev" for name in archives} == set(packages.LINKED_DEBIAN)
    notices = packages.licences(packages.LINKED_DEBIAN)
    console = json.loads((ROOT / "console/package.json").read_text())["dependencies"]
    assert {*packages.LINKED_DEBIAN, *(f"npm-{name.lstrip('@').replace('/', '-')}" for name in console)} <= notices.keys()
    assert b"Facebook" in notices["librocksdb-dev"] and b"MIT" in notices["npm-preact"]
    assert "debian/licences usr/share/doc/gramme\n" in (ROOT / "packaging/debian/gramme.install").read_text()


def test_balancer_configuration():
    haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
    if not pathlib.Path(haproxy).exists():
        pytest.skip("haproxy is not installed (tools/setup cluster)")
    done = subprocess.run([haproxy, "-c", "-f", FOLDER / "haproxy.cfg"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_settings_of_the_image_are_settings():
    """Each GRAMME_NAME of the Containerfile is a setting."""
    known = re.findall(r'SETTING\(\w+, "([\w-]+)"', (ROOT / "src/server/settings.def").read_text())
    names = re.findall(r"GRAMME_([A-Z0-9_]+)=", re.search("^ENV (.*)$", (FOLDER / "Containerfile").read_text(), re.MULTILINE)[1])
    assert names
    assert [name for name in names if name.lower().replace("_", "-") not in known] == []


def test_unit_and_settings_of_the_debian_package():
    """Every setting of gramme.conf, also those that are commented out, is a setting."""
    known = re.findall(r'SETTING\(\w+, "([\w-]+)"', (ROOT / "src/server/settings.def").read_text())
    names = re.findall(r"^#?([\w-]+) = ", (ROOT / "packaging/debian/gramme.conf").read_text(), re.MULTILINE)
    assert len(names) > 5
    assert [name for name in names if name not in known] == []


def test_sandbox_of_the_service():
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed (tools/setup deploy)")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", ROOT / "packaging/debian/gramme.service"], capture_output=True,
                          text=True, check=False)
    exposure = re.search(r"Overall exposure level for gramme.service: ([\d.]+)", done.stdout)
    assert exposure, done.stdout + done.stderr
    assert float(exposure[1]) < 3.0


@pytest.mark.parametrize("name", ["gramme", "gramme-client", "gramme-bench"])
def test_programs_are_hardened(name):
    """Position-independent, relocations read-only after the start, stack protector, fortified calls of the C library."""
    path = BUILD / name
    if shutil.which("readelf") is None or sanitizer_flags():
        pytest.skip("needs readelf, and a build without sanitizers")

    def read(*options):
        return subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True, check=True).stdout

    assert re.search(r"Type:\s+DYN", read("--file-header"))
    assert "GNU_RELRO" in read("--program-headers")
    stack = re.search(r"GNU_STACK.*", read("--program-headers"))[0]
    assert "RWE" not in stack
    assert re.search(r"BIND_NOW|FLAGS.*NOW", read("--dynamic"))
    symbols = read("--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert re.search(r"__\w+_chk\b", symbols.replace("__stack_chk", ""))
