"""Puts the programs into the package: those of the folder gramme/programs, where tools/package copies them, or those that are
built in the tree around this folder. Without either the package is installed all the same, and uses a `gramme` in PATH."""

import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("gramme", "gramme-bench", "gramme-client")
BUILT = (HERE / "gramme" / "programs", HERE.parents[1] / "build-portable" / "stripped")


def built():
    """The folder of the programs, or None."""
    return next((folder for folder in BUILT if (folder / "gramme").exists()), None)


class BuildWithPrograms(build_py):
    def run(self):
        super().run()
        folder = built()
        if folder is not None:
            target = pathlib.Path(self.build_lib) / "gramme" / "programs"
            target.mkdir(parents=True, exist_ok=True)
            for name in PROGRAMS:
                shutil.copy(folder / name, target / name)


class WheelForPlatform(bdist_wheel):
    """Any Python 3; with programs inside, Linux on this kind of processor, with the glibc of Debian 12 or newer."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = built() is None

    def get_tag(self):
        python, abi, system = super().get_tag()
        if built() is None:
            return python, abi, system
        return "py3", "none", system.replace("linux_", "manylinux_2_36_", 1)


setup(cmdclass={"build_py": BuildWithPrograms, "bdist_wheel": WheelForPlatform})
