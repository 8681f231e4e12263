"""The library as it is installed: what it exports, and what a user compiles."""

import os
import re
import subprocess

import pytest

from c_programs import BUILD, LIBRARY, ROOT, clean_environment, compile_program, run, sanitizer_flags

USER = ROOT / "tests" / "client" / "user.c"
STANDARDS = [("cc", "c99", "c"), ("cc", "c17", "c"), ("c++", "c++17", "c++")]



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


def test_the_server_needs_no_curl():
    assert "libcurl" not in run(["ldd", BUILD / "gramme"], os.environ).stdout
