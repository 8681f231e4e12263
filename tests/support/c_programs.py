"""The library's test programs, and how to compile a program that uses the library."""

import json
import os
import pathlib
import subprocess

from server import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(program()).resolve().parent
LIBRARY = BUILD / "src" / "client"


def clean_environment(home, **more):
    """Nothing of the caller's AWS settings, and none of this machine's."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("AWS_") and not name.lower().endswith("_proxy")}
    return {**kept, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true",
            "LD_LIBRARY_PATH": str(LIBRARY), **more}


def run(command, environment, seconds=120):
    return subprocess.run([str(part) for part in command], env=environment, text=True,
                          capture_output=True, timeout=seconds)


def sanitizer_flags():
    """What a program must be compiled with to use this build's library."""
    options = json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())
    sanitize = next(option["value"] for option in options if option["name"] == "b_sanitize")
    return [] if sanitize == "none" else [f"-fsanitize={sanitize}"]


def compile_program(source, output, *flags, compiler="cc", standard="c99"):
    """Compiles and links; any warning is an error."""
    done = run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source,
                "-o", output, *flags, *sanitizer_flags()], os.environ)
    assert done.returncode == 0, done.stderr
