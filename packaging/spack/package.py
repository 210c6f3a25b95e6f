"""The Spack recipe of MegaScope.

Put it into a repository of recipes (spack repo create), as packages/megascope/package.py, and build a source tree:
    spack dev-build -d /path/to/megascope megascope@0.1.0 ^openmpi
Spack has no recipe for protozero (headers only): protozero_include names their directory (Debian: libprotozero-dev).
"""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0
    pass


class Megascope(CMakePackage):
    """Profiles MPI jobs: where time goes, which ranks delay the others, and why. Applications run unmodified."""

    license("Apache-2.0")

    version("0.1.0")

    variant("otf2", default=True, description="Export to OTF2")
    variant("libdw", default=True, description="Source lines of call sites")
    variant("live", default=True, description="Live view in a browser; its page needs npm and the npm registry")
    variant("slurm", default=False, description="Plugin for srun --megascope")
    variant("protozero_include", default="/usr/include", values=lambda value: value.startswith("/"),
            description="Directory that contains protozero/pbf_writer.hpp")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("help2man", type="build")
    depends_on("mpi")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("zlib-api")
    depends_on("otf2", when="+otf2")
    depends_on("elfutils", when="+libdw")
    depends_on("boost@1.81:", when="+live")
    depends_on("slurm", when="+slurm")

    requires("^[virtuals=mpi] openmpi", "^[virtuals=mpi] mpich", policy="one_of",
             msg="a build is for programs of Open MPI or of MPICH")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        return [
            self.define("MEGASCOPE_MPI_LIBRARY", "mpich" if mpi.name == "mpich" else "openmpi"),
            self.define("MEGASCOPE_MPICC", mpi.mpicc),
            self.define("MEGASCOPE_MPIRUN", join_path(mpi.prefix.bin, "mpirun")),
            self.define("MEGASCOPE_PROTOZERO_INCLUDE_DIR", self.spec.variants["protozero_include"].value),
            self.define("MEGASCOPE_BUILD_TESTS", False),
            self.define_from_variant("MEGASCOPE_WITH_OTF2", "otf2"),
            self.define_from_variant("MEGASCOPE_WITH_LIBDW", "libdw"),
            self.define_from_variant("MEGASCOPE_WITH_LIVE", "live"),
            self.define_from_variant("MEGASCOPE_WITH_SLURM", "slurm"),
        ]
