import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load

required_conan_version = ">=2.0"
ROOT = os.path.join("..", "..")


class Whilst(ConanFile):
    name = "whilst"
    description = "Iterative solvers whose whole loop runs on the GPU"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "with_c": [True, False], "with_cuda": [True, False]}
    default_options = {"shared": False, "fPIC": True, "with_c": True, "with_cuda": False}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include/whilst/version.hpp"))
        self.version = re.search(r'version = "([0-9.]+)"', header)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "include/*", "kernels/*",
                        "solvers/*", "examples/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("zlib/[>=1.2.11 <2]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name, value in (("CUDA", bool(self.options.with_cuda)), ("BUILD_C", bool(self.options.with_c)),
                            ("BUILD_APPS", False), ("BUILD_BENCHMARKS", False), ("BUILD_TESTS", False)):
            toolchain.cache_variables[f"WHILST_{name}"] = value
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # Whilst's own package for CMake, with its targets, in place of one that Conan makes.
        self.cpp_info.set_property("cmake_find_mode", "none")
        whilst = self.cpp_info.components["whilst"]
        whilst.set_property("pkg_config_name", "whilst")
        whilst.builddirs = [os.path.join("lib", "cmake", "whilst")]
        whilst.libs = ["whilst"]
        whilst.requires = ["zlib::zlib"]
        whilst.system_libs = ["pthread", "dl"]
        if self.options.with_c:
            # The shared library for C, which has what it needs of the other one within it, unless that is shared, too.
            whilst_c = self.cpp_info.components["whilst_c"]
            whilst_c.set_property("pkg_config_name", "whilst_c")
            whilst_c.libs = ["whilst_c"]
            whilst_c.requires = ["whilst"] if self.options.shared else ["zlib::zlib"]
