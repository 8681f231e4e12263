"""The library as it is installed: what it exports, and what a user compiles."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import textwrap

import pytest

from blocks import blocks_for
from c_programs import BUILD, LIBRARY, ROOT, clean_environment, compile_program, run, sanitizer_flags

USER = ROOT / "tests" / "client" / "user.c"
STANDARDS = [("cc", "c99", "c"), ("cc", "c17", "c"), ("c++", "c++17", "c++")]
COMPILER = ["ccache", "cc"] if shutil.which("ccache") else ["cc"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `make install` puts below a directory, found by pkg-config."""
    root = tmp_path_factory.mktemp("root")
    done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], os.environ)
    assert done.returncode == 0, done.stderr
    file, = root.rglob("gramme.pc")
    return root, {**os.environ, "PKG_CONFIG_PATH": str(file.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}


def pkg_config(installed, *arguments):
    done = run(["pkg-config", *arguments, "gramme"], installed[1])
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def check_runs(binary, library_path, tmp_path):
    done = run([binary], clean_environment(tmp_path, LD_LIBRARY_PATH=str(library_path)))
    assert (done.returncode, done.stdout) == (0, "ann (41) 41\n"), done.stderr


@pytest.mark.parametrize("compiler, standard, language", STANDARDS)
def test_user_of_the_shared_library(installed, tmp_path, compiler, standard, language):
    source = tmp_path / f"user.{'cc' if language == 'c++' else 'c'}"
    source.write_text(USER.read_text())
    compile_program(source, tmp_path / "user", *pkg_config(installed, "--cflags", "--libs"),
                    compiler=compiler, standard=standard)
    library, = installed[0].rglob("libgramme.so.0")
    check_runs(tmp_path / "user", library.parent, tmp_path)


def test_code_of_the_manual(installed, tmp_path):
    """docs/client.md: the commands compile a program, and the pieces of code compile inside one."""
    commands, request, errors = blocks_for("docs/client.md", "tests/client/test_library.py")
    body = textwrap.indent(f"{request}gramme_answer_destroy(answer);\ngramme_request_destroy(update);\n{errors}", "    ")
    (tmp_path / "program.c").write_text(
        "#include <gramme/gramme.h>\n#include <stdio.h>\n\n"
        "void manual(struct gramme_db *db, const char *id, int64_t version);\n"
        "void manual(struct gramme_db *db, const char *id, int64_t version)\n{\n"
        f"    struct gramme_error *error = NULL;\n{body}    gramme_error_destroy(error);\n}}\n\n"
        "int main(void)\n{\n    return 0;\n}\n")
    flags = " ".join(["-Wall", "-Wextra", "-Werror", *sanitizer_flags()])
    for command in commands.splitlines():
        done = subprocess.run(command.replace("cc program.c", f"cc {flags} program.c"), shell=True, cwd=tmp_path, env=installed[1],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_user_of_the_static_library(installed, tmp_path):
    """The engine is inside: nothing of ours is needed at run time. The user's own names may be those
    that the engine has inside."""
    source = tmp_path / "user.c"
    source.write_text(USER.read_text() + "\nint str_eq(void);\nint str_eq(void)\n{\n    return 1;\n}\n"
                      "int map_get(void);\nint map_get(void)\n{\n    return 1;\n}\n")
    flags = pkg_config(installed, "--cflags", "--libs", "--static")
    archive, = installed[0].rglob("libgramme.a")
    compile_program(source, tmp_path / "user", *[archive if flag == "-lgramme" else flag for flag in flags])
    assert "libgramme" not in run(["ldd", tmp_path / "user"], os.environ).stdout
    check_runs(tmp_path / "user", "/nowhere", tmp_path)


def defined_symbols(*arguments):
    output = subprocess.run(["nm", "--defined-only", *map(str, arguments)], check=True, text=True,
                            capture_output=True).stdout
    return {line.split()[2] for line in output.splitlines() if len(line.split()) == 3}


def declared_functions():
    header = (ROOT / "include" / "gramme" / "gramme.h").read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return set(re.findall(r"\b(gramme_\w+)\(", header))


def compile_all(sources, directory, flags):
    """Compiles C files, two at a time; gives the objects."""
    def compile_one(source):
        target = directory / (str(source.relative_to(directory)).replace("/", "_") + ".o")
        done = run([*COMPILER, "-std=gnu17", "-D_GNU_SOURCE", '-DGRAMME_VERSION="0"', "-c", source, "-o", target, *flags], os.environ)
        assert done.returncode == 0, done.stderr
        return target
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(compile_one, sources))


def test_the_applications_need_the_installed_library_only(installed, tmp_path):
    """Their own sources and what they serve with (base, err, http); of the library its header and the shared object. Nothing else of
    this tree is there to be included or linked."""
    for folder in ("apps", "src/base", "src/err", "src/http"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("node_modules", "page", "*_test.c", "*testing.[ch]"))
    for path in sorted(tmp_path.glob("apps/*/*.json")):
        if path.stem in ("schema", "patterns", "workload"):
            name = f"{path.parent.name}_{path.stem}"
            assert run([ROOT / "tools/embed", name, path, tmp_path / f"{name}.c"], os.environ).returncode == 0
    others = run(["pkg-config", "--cflags", "--libs", "cjose", "libcurl", "libcrypto", "libssl", "libuv", "libxxhash", "zlib", "libdeflate"],
                 os.environ).stdout.split()
    flags = [f"-I{tmp_path}", f"-I{tmp_path}/src", *pkg_config(installed, "--cflags", "--libs"), *others, "-lpthread", "-lm", *sanitizer_flags()]
    objects = compile_all(sorted(tmp_path.rglob("*.c")), tmp_path, [flag for flag in flags if not flag.startswith(("-l", "-L"))])
    done = run(["cc", *objects, "-o", tmp_path / "gramme-apps", *flags], os.environ)
    assert done.returncode == 0, done.stderr
    library, = installed[0].rglob("libgramme.so.0")
    environment = clean_environment(tmp_path, LD_LIBRARY_PATH=str(library.parent))
    assert "--create-tables" in run([tmp_path / "gramme-apps", "--help"], environment).stdout
    done = run([tmp_path / "gramme-apps", "--db", "nowhere:"], environment)
    assert done.returncode == 1 and "BadAddress" in done.stderr  # the library's own words


def test_exports():
    """Exactly the functions of the header, in both libraries, with a version in the shared one."""
    if sanitizer_flags():
        pytest.skip("sanitizers add symbols of their own")
    shared = defined_symbols("-D", LIBRARY / "libgramme.so")
    assert {name.partition("@@")[0] for name in shared if name.startswith("gramme_")} == declared_functions()
    assert {name.partition("@@")[2] for name in shared if name.startswith("gramme_")} == {"GRAMME_0.1"}
    assert {name for name in shared if not name.startswith("gramme_")} == {"GRAMME_0.1"}
    assert defined_symbols("-g", LIBRARY / "libgramme.a") == declared_functions()


def test_soname():
    output = run(["readelf", "-d", LIBRARY / "libgramme.so"], os.environ).stdout
    assert "soname: [libgramme.so.0]" in output


def test_the_server_needs_no_line_editor():
    assert "libedit" not in run(["ldd", BUILD / "gramme"], os.environ).stdout
