#!/usr/bin/env python3
"""Checks that everything that says a version says the same one.

usage: version.py ROOT CMAKE_VERSION
"""
import importlib.util
import json
import pathlib
import re
import sys
import types
from unittest import mock


def conan_version(root):
    """What the recipe makes of itself. Conan need not be installed: the recipe is loaded against stand-ins of its modules."""
    stand_ins = {"conan": types.SimpleNamespace(ConanFile=object)}
    for name in ("conan.tools", "conan.tools.build", "conan.tools.cmake", "conan.tools.files"):
        stand_ins[name] = mock.MagicMock()
    with mock.patch.dict(sys.modules, stand_ins):
        spec = importlib.util.spec_from_file_location("recipe", root / "conanfile.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    recipe = module.gangsched_recipe()
    recipe.recipe_folder = str(root)
    recipe.set_version()
    return recipe.version


def main(root, cmake_version):
    root = pathlib.Path(root)
    header = (root / "include/gangsched/version.hpp").read_text()
    versions = {
        "version.hpp": ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")),
        "CMakeLists.txt": cmake_version,
        "vcpkg.json": json.loads((root / "vcpkg.json").read_text())["version"],
        "conanfile.py": conan_version(root),
        "CHANGELOG.md": re.search(r"^## (\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)[1],
    }
    abi = re.search(r"^#define GANGSCHED_ABI v(\d+)_(\d+)$", (root / "include/gangsched/core/config.hpp").read_text(), re.MULTILINE)
    if cmake_version.split(".")[:2] == list(abi.groups()):
        versions["config.hpp (GANGSCHED_ABI)"] = cmake_version
    else:
        versions["config.hpp (GANGSCHED_ABI)"] = abi[0]
    for place, version in versions.items():
        print(f"{version}  {place}")
    return 0 if len(set(versions.values())) == 1 else 1


sys.exit(main(*sys.argv[1:]))
