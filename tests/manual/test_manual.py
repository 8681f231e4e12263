"""Man pages and completions say exactly what --help says."""

import pathlib
import re
import shutil
import subprocess

import pytest

from server import ROOT, program

BUILD = pathlib.Path(program()).parent
OPTION = re.compile(r"^ {2}(-[\w-]+(?:, --[\w-]+)?)", re.MULTILINE)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """What `make install` puts below a directory."""
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder, "--quiet"], check=True)
    return next(folder.rglob("share"))


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def commands():
    """The names that `gramme help` lists."""
    return re.findall(r"^  gramme (\w+)", run(program(), "help"), re.MULTILINE)


def help_options(name):
    text = run(program(), name, "--help")
    return {option for match in OPTION.findall(text) for option in match.split(", ")}


WITH_HELP = [name for name in commands() if name != "help"]


def rendered(path):
    text = run("mandoc", "-Tascii", "-O", "width=1000", str(path))
    return re.sub(r".\x08", "", text)


@pytest.mark.parametrize("name", WITH_HELP)
def test_help_behind_other_words(name):
    assert run(program(), name, "anything", "--anything", "--help") == run(program(), name, "--help")


def test_pages_are_there(root):
    names = {path.name for path in (root / "man" / "man1").iterdir()}
    assert names == {"gramme.1", *(f"gramme-{name}.1" for name in WITH_HELP)}
    assert (root / "man/man5/gramme.conf.5").exists()
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/gramme/gramme.h").read_text(), flags=re.DOTALL)
    for function in re.findall(r"\b(gramme_\w+)\(", header):
        text = rendered(root / f"man/man3/{function}.3")
        assert f"{function}(" in text.split("DESCRIPTION")[0], function


@pytest.mark.parametrize("tool", [["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-ww", "-z", "-t", "-Kutf8"]], ids=["mandoc", "groff"])
def test_pages_have_no_mistakes(root, tool):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    pages = sorted(map(str, (root / "man").rglob("*.[135]")))
    done = subprocess.run([*tool, *pages], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", WITH_HELP)
def test_options_of_pages(root, name):
    text = rendered(root / f"man/man1/gramme-{name}.1")
    entries = re.findall(r"^ {5,7}(-[\w-]+(?:, --[\w-]+)?)", text, re.MULTILINE)
    assert {option for entry in entries for option in entry.split(", ")} == help_options(name)


@pytest.mark.parametrize("name", ["", *WITH_HELP])
def test_words_of_pages(root, name):
    """Every word of the help is in the page, and the other way round, but for headings and line ends."""
    page = rendered(root / f"man/man1/gramme{'-' + name if name else ''}.1").split("SEE ALSO")[0]
    text = run(program(), *([name, "--help"] if name else ["help"]))
    shown = set(re.findall(r"[\w./:-]*\w[\w./:-]*", page))
    missing = {word for word in re.findall(r"[\w./:-]*\w[\w./:-]*", text) if word not in shown and word.rstrip(":") not in shown}
    assert {word for word in missing if not word.startswith(("Usage", "Options", "Example", "Exit", "status", "Workloads"))} <= {
        "0.1.0:", "In", "a", "test", "run:", "Any", "AWS", "SDK", "and", "the", "CLI", "can", "talk", "to", "it:",
        "On", "that", "no", "server", "has", "open:", "Kinds", "of", "lines:"}, missing


def test_settings_page(root):
    names = set(re.findall(r'^SETTING\(\w+, "([\w-]+)"', (ROOT / "src/server/settings.def").read_text(), re.MULTILINE))
    text = rendered(root / "man/man5/gramme.conf.5").split("SETTINGS")[1].split("EXAMPLES")[0]
    assert set(re.findall(r"^ {5,7}([\w-]+) = ", text, re.MULTILINE)) == names


# --- completions ---


def bash_words(root, *words):
    """What bash offers for the last word."""
    script = f"""source {root}/bash-completion/completions/gramme
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _gramme; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return set(run("bash", "--norc", "-c", script, "bash", *words).split())


def test_bash(root):
    assert bash_words(root, "gramme", "") == set(commands())
    assert bash_words(root, "gramme", "ve") == {"version"}
    for name in WITH_HELP:
        assert bash_words(root, "gramme", name, "x", "-") == help_options(name), name
    assert bash_words(root, "gramme", "serve", "--auth", "") == {"off", "warn", "on", "any", "none"}
    assert {"add", "list", "remove"} < bash_words(root, "gramme", "user", "")
    assert "ycsb-a" in bash_words(root, "gramme", "bench", "ycsb")


def test_fish(root):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = f"source {root}/fish/vendor_completions.d/gramme.fish; "

    def offered(line):
        out = run("fish", "--no-config", "-c", script + f"complete -C '{line}'")
        return {text.split("\t")[0] for text in out.splitlines()}
    assert offered("gramme ") == set(commands())
    for name in WITH_HELP:
        assert offered(f"gramme {name} --") == {option for option in help_options(name) if option.startswith("--")}, name
    assert offered("gramme serve --log-format ") == {"text", "json"}
    assert "rotate" in offered("gramme key ")


def test_zsh(root):
    """The file loads, and has exactly the options."""
    path = root / "zsh/site-functions/_gramme"
    if shutil.which("zsh") is not None:
        assert run("zsh", "-f", "-n", str(path)) == ""
    text = path.read_text()
    listed = re.search(r"commands=\((.*?)\n    \)", text, re.DOTALL)[1]
    assert re.findall(r"'(\w+):", listed) == commands()
    for name in WITH_HELP:
        block = re.search(rf"^    {name}\)\n(.*?)^        ;;", text, re.DOTALL | re.MULTILINE)[1]
        assert set(re.findall(r"^ +'\*(-[\w-]+)\[", block, re.MULTILINE)) == help_options(name), name


def test_two_runs_are_equal(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        subprocess.run([ROOT / "tools/manual", program(), folder, "0.1.0"], check=True)
    assert run("diff", "-r", *map(str, folders)) == ""


def test_version(tmp_path):
    import json
    built = json.loads(run(program(), "version", "--json"))
    text = run(program(), "version")
    formats = built["formats"]
    assert text.startswith(f"gramme {built['version']}\ncommit {built['commit']}\nstore format {formats['store']} "
                           f"(upgrades {formats['storeOldest']} to {formats['store'] - 1}), on PostgreSQL {formats['postgresql']} ")
    assert all(f"{name} {version}" in text for name, version in built["libraries"].items())
    assert {"rocksdb", "libuv", "openssl", "zlib"} <= set(built["libraries"]) and all(built["libraries"].values())
    assert re.fullmatch(r"[0-9a-f]{12,}(-dirty)?|unknown", built["commit"])
    server = subprocess.run([program(), "version", "--nothing"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert server.returncode == 2
