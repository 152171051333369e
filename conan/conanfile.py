"""The Conan recipe of fleet. It lies one folder below what it packages, so it copies the sources from its parent.

    conan create conan --build=missing
    conan create conan --build=missing -o "fleet/*:with_onednn=True"
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class FleetConan(ConanFile):
    name = "fleet"
    description = "Distributed training as types: a header-only C++20 library"
    license = "Apache-2.0"
    topics = ("machine-learning", "distributed-training", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # One option for each optional part. oneDNN itself is looked up by the consumer's CMake.
    options = {"with_onednn": [True, False]}
    default_options = {"with_onednn": False}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(fleet VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        parent = os.path.join(self.recipe_folder, "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "cmake/*"):
            copy(self, pattern, src=parent, dst=self.export_sources_folder)

    def requirements(self):
        self.requires("cpp-httplib/[>=0.11 <1]")
        self.requires("openssl/[>=1.1.1 <4]")
        self.requires("zlib/[>=1.2.11 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["FLEET_WITH_ONEDNN"] = bool(self.options.with_onednn)
        for what in ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS"):
            toolchain.cache_variables[f"FLEET_BUILD_{what}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        # Headers are the same for every compiler and system; only the options say which parts are there.
        self.info.settings.clear()
        self.info.requires.clear()

    def package_info(self):
        # The installed CMake package is used as it is: the same targets, whatever the way of installing.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "fleet")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
