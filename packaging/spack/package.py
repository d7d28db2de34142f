from spack.package import *

try:  # since Spack 1.0
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Whilst(CMakePackage, CudaPackage):
    """Iterative solvers whose whole loop runs on the GPU."""

    url = "@URL@"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    variant("shared", default=True, description="Build a shared library")
    variant("c", default=True, description="Build the library for C, Fortran and Julia")
    variant("apps", default=True, description="Build the command line")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("zlib-api")
    depends_on("cuda@12.4:", when="+cuda")
    with when("+apps"):
        depends_on("cli11@2.1:", type="build")
        depends_on("fmt")
        depends_on("nlohmann-json@3.10:", type="build")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU's architecture, as cuda_arch=90")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("WHILST_BUILD_C", "c"),
            self.define_from_variant("WHILST_BUILD_APPS", "apps"),
            self.define_from_variant("WHILST_CUDA", "cuda"),
            self.define("WHILST_BUILD_BENCHMARKS", False),
            self.define("WHILST_BUILD_TESTS", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("WHILST_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
