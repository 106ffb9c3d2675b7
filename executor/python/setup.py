"""The wheel. CMake builds the C++ module in the folder that PODIUM_BUILD names, else in that of the preset `package`,
which is for machines of any kind; the version is CMake's."""

import os
import re
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PODIUM_BUILD", ROOT / "build" / "package")).resolve()


class BuildByCMake(build_ext):
    """Takes the module that CMake has built for this Python, and what it loads from beside it."""

    def build_extension(self, ext: Extension) -> None:
        if not (BUILD / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "package", "-B", BUILD], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", "podium_python"], check=True)
        wanted = Path(self.get_ext_fullpath(ext.name))
        install = ["cmake", "--install", BUILD, "--component", "wheel", "--strip", "--prefix", wanted.parent]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        if not wanted.exists():
            raise SystemExit(f"{wanted} not found: cmake -DPython_EXECUTABLE of the Python that asks for the wheel needed")


version = re.search(r"project\(podium VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
(BUILD / "wheel").mkdir(parents=True, exist_ok=True)
setup(
    version=version.group(1) if version else None,
    ext_modules=[Extension("podium._podium", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
    options={"build": {"build_base": str(BUILD / "wheel")}, "egg_info": {"egg_base": str(BUILD / "wheel")}},
)
