"""tools/configure: whatever state a build directory is in, a build can follow."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configure(build, *options, **env):
    return subprocess.run([ROOT / "tools/configure", build, *options], env={**os.environ, **env},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def unit_tests(build):
    listed = subprocess.run(["meson", "introspect", build, "--tests"], check=True, capture_output=True, text=True)
    return [test["name"] for test in json.loads(listed.stdout)]


@pytest.fixture
def without_cmocka(tmp_path):
    """The environment of a machine on which cmocka is not installed."""
    wrapper = tmp_path / "pkg-config"
    wrapper.write_text('#!/bin/sh\ncase " $* " in *" cmocka "*) exit 1 ;; esac\nexec pkg-config "$@"\n')
    wrapper.chmod(0o755)
    return {"PKG_CONFIG": str(wrapper)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A build directory that is configured."""
    build = tmp_path_factory.mktemp("configure") / "build"
    done = configure(build)
    assert done.returncode == 0, done.stdout
    return build


def test_unit_tests_come_with_cmocka(tmp_path, without_cmocka):
    build = tmp_path / "build"
    assert configure(build, **without_cmocka).returncode == 0
    assert unit_tests(build) == []
    assert configure(build).returncode == 0
    assert "json/reader" in unit_tests(build)


def test_nothing_is_done_twice(made):
    before = (made / "build.ninja").stat().st_mtime_ns
    done = configure(made)
    assert (done.returncode, done.stdout) == (0, "")
    assert (made / "build.ninja").stat().st_mtime_ns == before


def test_other_options_are_taken_and_files_of_others_stay(made):
    (made / "demo-data").mkdir()
    assert configure(made, "-Dbuildtype=release").returncode == 0
    options = subprocess.run(["meson", "introspect", made, "--buildoptions"], check=True, capture_output=True, text=True)
    assert {"buildtype": "release"}.items() <= {o["name"]: o["value"] for o in json.loads(options.stdout)}.items()
    assert (made / "demo-data").exists()


@pytest.mark.parametrize("left", ["stamp", "build.ninja", "coredata"])
def test_an_interrupted_configuration_is_begun_again(made, left):
    if left != "stamp":
        (made / "configured").unlink(missing_ok=True)
    if left != "build.ninja":
        (made / "build.ninja").unlink(missing_ok=True)
    if left == "coredata":
        (made / "meson-private/coredata.dat").write_bytes(b"half")
    done = configure(made)
    assert done.returncode == 0, done.stdout
    assert "json/reader" in unit_tests(made)


def test_a_failed_configuration_says_why_and_does_not_spoil_the_next(tmp_path):
    build = tmp_path / "build"
    done = configure(build, "-Dno_such_option=1")
    assert done.returncode == 1 and "no_such_option" in done.stdout
    assert configure(build).returncode == 0
    assert "json/reader" in unit_tests(build)


@pytest.fixture
def project(tmp_path):
    """A small project with a copy of tools/configure."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/configure", tmp_path / "tools/configure")
    (tmp_path / "meson.build").write_text("project('small')\n")
    (tmp_path / "meson_options.txt").write_text("option('tests', type: 'feature')\n")
    return tmp_path


def test_changed_options_of_the_project_are_followed(project):
    """As after a pull: a new option has its default, and one that is gone does no harm."""
    def made_options():
        done = subprocess.run([project / "tools/configure", "build"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        listed = subprocess.run(["meson", "introspect", project / "build", "--buildoptions"], check=True, capture_output=True, text=True)
        return {option["name"] for option in json.loads(listed.stdout)}

    assert "depth" not in made_options()
    (project / "meson_options.txt").write_text("option('tests', type: 'feature')\noption('depth', type: 'integer', value: 3)\n")
    assert "depth" in made_options()
    (project / "meson_options.txt").write_text("option('tests', type: 'feature')\n")
    assert "depth" not in made_options()
