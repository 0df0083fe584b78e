import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class gangsched_recipe(ConanFile):
    name = "gangsched"
    description = "A gang scheduler that other people's schedulers link"
    license = "Apache-2.0"
    topics = ("scheduling", "kubernetes", "gang-scheduling")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "kube": [True, False]}
    default_options = {"shared": False, "fPIC": True, "kube": False}
    implements = ["auto_shared_fpic"]
    exports = "include/gangsched/version.hpp"
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "src/*", "LICENSE"
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        text = Path(self.recipe_folder, "include/gangsched/version.hpp").read_text()
        parts = (re.search(rf"VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(parts)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        # The header-only target is in every package, so what the bodies need is visible to consumers too.
        self.requires("abseil/[>=20220623.1]", transitive_headers=True)
        self.requires("boost/[>=1.74]", transitive_headers=True, options={"header_only": True})
        self.requires("fmt/[>=9.1]", transitive_headers=True)
        if self.options.kube:
            self.requires("nlohmann_json/[>=3.9]")
            self.requires("yaml-cpp/[>=0.6]")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTING", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"GANGSCHED_BUILD_{part}"] = False
        toolchain.cache_variables["GANGSCHED_WERROR"] = False
        toolchain.cache_variables["GANGSCHED_BUILD_KUBE"] = bool(self.options.kube)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        for folder in ("lib/pkgconfig", "share"):
            rmdir(self, Path(self.package_folder, folder))

    def package_info(self):
        # CMake finds the package's own config file, which knows both targets; the rest is for other build systems.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/gangsched"]
        self.cpp_info.libs = ["gangsched-c", "gangsched-kube"] if self.options.kube else []
        self.cpp_info.libs += ["gangsched-report", "gangsched-record", "gangsched"]
        self.cpp_info.defines = ["GANGSCHED_SHARED"] if self.options.shared else []
        self.cpp_info.cxxflags = ["-ffp-contract=off"]
