#!/usr/bin/env python3
"""Tests scripts/release, and checks the recipes in packaging as it fills them in, as far as that goes without their package
managers. Argument: the folder of the sources, a git repository."""

import ast
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

try:
    import yaml
except ImportError:
    yaml = None

SOURCE = os.path.abspath(sys.argv.pop(1))


def release(folder, *arguments):
    return subprocess.run([os.path.join(SOURCE, "scripts/release"), "--output", folder, *arguments], capture_output=True,
                          text=True, timeout=100, check=False)


def source(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


class released(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.url = "https://example.com/here.tar.gz"
        done = release(cls.folder, "--draft", "--url", cls.url)
        if done.returncode:
            raise RuntimeError(done.stderr)
        # Of the commit, which is what is released.
        cls.version = re.search(r'version = "([0-9.]+)"', source("include/whilst/version.hpp"))[1]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def read(self, *path):
        with open(os.path.join(self.folder, *path), encoding="utf-8") as file:
            return file.read()

    def tarball(self):
        return os.path.join(self.folder, f"whilst-{self.version}.tar.gz")

    def test_tarball_has_the_files_of_the_commit(self):
        listed = subprocess.run(["git", "-C", SOURCE, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True,
                                text=True, check=True).stdout.split()
        with tarfile.open(self.tarball()) as archive:
            files = {member.name for member in archive.getmembers() if member.isfile()}
        self.assertEqual(files, {f"whilst-{self.version}/{path}" for path in listed})

    def test_sums_are_those_of_the_files(self):
        lines = self.read("SHA256SUMS").splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            checksum, name = line.split()
            with open(os.path.join(self.folder, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), checksum)

    def test_the_same_commit_makes_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            self.assertEqual(release(again, "--draft", "--url", self.url).returncode, 0)
            for name in ("SHA256SUMS", "packaging/spack/package.py"):
                with open(os.path.join(again, name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), self.read(name))

    def test_a_wrong_argument_is_refused(self):
        self.assertNotEqual(release(self.folder, "--drift").returncode, 0)

    def test_a_version_that_is_not_released_is_refused(self):
        if not re.search(rf"(?m)^## \[{re.escape(self.version)}\] - unreleased", source("CHANGELOG.md")):
            self.skipTest("this version is released")
        with tempfile.TemporaryDirectory() as scratch:
            done = release(os.path.join(scratch, "none"))
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "unreleased|not committed")
            self.assertEqual(os.listdir(scratch), [])

    def test_bill_of_materials(self):
        bill = json.loads(self.read(f"whilst-{self.version}.spdx.json"))
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        for key in ("dataLicense", "documentNamespace", "name", "creationInfo", "SPDXID"):
            self.assertIn(key, bill)
        packages = {package["SPDXID"]: package for package in bill["packages"]}
        self.assertEqual(len(packages), len(bill["packages"]))
        for identity, package in packages.items():
            self.assertRegex(identity, r"^SPDXRef-[A-Za-z0-9.-]+$")
            for key in ("name", "downloadLocation", "licenseDeclared", "licenseConcluded", "copyrightText"):
                self.assertIn(key, package)
        known = {"SPDXRef-DOCUMENT", *packages}
        related = set()
        for relation in bill["relationships"]:
            self.assertIn(relation["spdxElementId"], known)
            self.assertIn(relation["relatedSpdxElement"], known)
            related |= {relation["spdxElementId"], relation["relatedSpdxElement"]}
        self.assertEqual(related, known)
        # All that the build would fetch.
        for commit in re.findall(r"GIT_TAG (\w{40})", source("cmake/dependencies.cmake")):
            self.assertTrue(any(package["downloadLocation"].endswith("@" + commit) for package in packages.values()), commit)

    def recipes(self):
        for folder, _, files in os.walk(os.path.join(self.folder, "packaging")):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self.folder)
                if name != "README.md":
                    yield path, self.read(path)

    def test_recipes_are_filled_in(self):
        with open(self.tarball(), "rb") as file:
            content = file.read()
        for path, text in self.recipes():
            self.assertIsNone(re.search(r"@[A-Z0-9_]+@", text), path)
        for path, words in (("spack/package.py", hashlib.sha256(content).hexdigest()), ("spack/package.py", self.url),
                            ("vcpkg/portfile.cmake", hashlib.sha512(content).hexdigest()),
                            ("conda-forge/recipe.yaml", hashlib.sha256(content).hexdigest())):
            self.assertIn(words, self.read("packaging", path))

    def test_options_are_those_of_the_build(self):
        build = source("cmake/options.cmake") + source("cmake/cuda.cmake")
        known = set(re.findall(r"(?:option|set)\((WHILST_\w+)", build))
        self.assertIn("WHILST_CUDA", known)
        for path, text in self.recipes():
            for name in re.findall(r"\bWHILST_[A-Z_]+\b", text):
                self.assertIn(name, known, path)
        for name in re.findall(r'\("([A-Z_]+)", (?:False|bool)', self.read("packaging/conan/conanfile.py")):
            self.assertIn("WHILST_" + name, known)

    def test_python_compiles(self):
        for path, text in self.recipes():
            if path.endswith(".py"):
                ast.parse(text, path)

    def test_conan_names_the_libraries(self):
        """Runs package_info as Conan would, with as much of Conan as that needs."""
        tools = ["conan.tools", "conan.tools.cmake", "conan.tools.build", "conan.tools.files"]
        modules = {name: unittest.mock.MagicMock() for name in ["conan", *tools]}
        modules["conan"].ConanFile = object
        with unittest.mock.patch.dict(sys.modules, modules):
            recipe = {}
            exec(compile(self.read("packaging/conan/conanfile.py"), "conanfile.py", "exec"), recipe)
        for with_c in (True, False):
            for shared in (True, False):
                made = recipe["Whilst"]()
                made.options = unittest.mock.Mock(with_c=with_c, shared=shared)
                components = collections.defaultdict(unittest.mock.Mock)
                made.cpp_info = unittest.mock.Mock(components=components)
                made.package_info()
                self.assertEqual(components["whilst"].libs, ["whilst"])
                self.assertEqual("whilst_c" in components, with_c)
                if with_c:
                    self.assertEqual(components["whilst_c"].libs, ["whilst_c"])
                    self.assertEqual(components["whilst_c"].requires, ["whilst"] if shared else ["zlib::zlib"])

    def test_vcpkg(self):
        port = json.loads(self.read("packaging/vcpkg/vcpkg.json"))
        self.assertEqual(port["version"], self.version)
        for feature in re.findall(r'"(\w+)" IN_LIST FEATURES', self.read("packaging/vcpkg/portfile.cmake")):
            self.assertIn(feature, port["features"])

    @unittest.skipUnless(yaml, "there is no PyYAML: python3-yaml")
    def test_conda_forge(self):
        recipe = yaml.safe_load(self.read("packaging/conda-forge/recipe.yaml"))
        self.assertEqual(recipe["context"]["version"], self.version)
        self.assertEqual(recipe["source"]["url"], self.url)
        self.assertTrue(os.path.isfile(os.path.join(SOURCE, recipe["about"]["license_file"])))
        subprocess.run(["bash", "-n", os.path.join(self.folder, "packaging/conda-forge", recipe["build"]["script"])],
                       check=True, timeout=10)

    @unittest.skipUnless(shutil.which("dpkg-parsechangelog"), "there is no dpkg-parsechangelog: dpkg-dev")
    def test_debian_changelog(self):
        path = os.path.join(self.folder, "packaging/debian/changelog")
        done = subprocess.run(["dpkg-parsechangelog", "--all", "-l", path], capture_output=True, text=True, timeout=30,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"\nVersion: {self.version}-1\n", done.stdout)

    def test_debian_control(self):
        paragraphs = [dict(re.findall(r"(?m)^([\w-]+):((?:.*\n(?: .*\n?)*))", text + "\n"))
                      for text in self.read("packaging/debian/control").strip().split("\n\n")]
        self.assertEqual(paragraphs[0]["Source"].strip(), "whilst")
        names = [paragraph["Package"].strip() for paragraph in paragraphs[1:]]
        soname = ".".join(self.version.split(".")[:2])
        self.assertEqual(sorted(names), sorted(["whilst", "libwhilst-dev", "libwhilst" + soname]))
        for paragraph in paragraphs[1:]:
            for key in ("Architecture", "Description", "Depends"):
                self.assertIn(key, paragraph)
        for name in names:  # else nothing would be in it
            self.assertTrue(os.path.isfile(os.path.join(self.folder, f"packaging/debian/{name}.install")))
        rules = os.path.join(self.folder, "packaging/debian/rules")
        self.assertTrue(os.access(rules, os.X_OK))
        if shutil.which("make"):
            subprocess.run(["make", "-n", "-f", rules, "override_dh_auto_configure"], check=True, timeout=30,
                           stdout=subprocess.DEVNULL)

    def test_files_named_are_there(self):
        docker = self.read("packaging/Dockerfile")
        self.assertTrue(all(line.startswith("--from=build ") or os.path.exists(os.path.join(SOURCE, line.split()[0]))
                            for line in re.findall(r"(?m)^COPY (.*)$", docker)))
        patterns = re.findall(r'"([\w./]+(?:/\*)?)"', re.search(r"for pattern in \((.*?)\):",
                              self.read("packaging/conan/conanfile.py"), re.S)[1])
        self.assertGreater(len(patterns), 5)
        for pattern in patterns:
            self.assertTrue(os.path.exists(os.path.join(SOURCE, pattern.replace("/*", ""))), pattern)
        for path, text in self.recipes():
            for name in re.findall(r"(\w+\.pc)\b", text):
                self.assertTrue(os.path.exists(os.path.join(SOURCE, f"cmake/{name}.in")), path)


if __name__ == "__main__":
    unittest.main()
