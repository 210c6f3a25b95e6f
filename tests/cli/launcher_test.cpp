#include "plugin/cli/launch/launcher.h"

#include "plugin/cli/run_directory/run_share.h"

#include <gmock/gmock.h>

namespace megascope::cli {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

const Preload kPreload{.library = "/opt/lib/libmegascope.so",
                       .existing = "",
                       .variables = {"MEGASCOPE_EXPORT", "MEGASCOPE_OUT"},
                       .slurm_export = ""};

Words rewritten(LauncherKind kind, Words command, const Preload& preload = kPreload) {
  const Status status = add_preload(kind, preload, command);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return command;
}

Preload with_existing(const std::string& existing) {
  Preload preload = kPreload;
  preload.existing = existing;
  preload.variables = {};
  return preload;
}

TEST(Launcher, IsKnownByItsNameAndByWhatItLinksTo) {
  EXPECT_EQ(launcher_kind("./app", "/opt/app"), LauncherKind::kNone);
  EXPECT_EQ(launcher_kind("mpirun", "/usr/bin/orterun"), LauncherKind::kOpenMpi);
  EXPECT_EQ(launcher_kind("/opt/ompi/bin/mpiexec", "/opt/ompi/bin/prterun"),
            LauncherKind::kOpenMpi);
  EXPECT_EQ(launcher_kind("mpirun.openmpi", ""), LauncherKind::kOpenMpi);
  EXPECT_EQ(launcher_kind("mpiexec", "/usr/bin/mpiexec.hydra"), LauncherKind::kHydra);
  EXPECT_EQ(launcher_kind("mpirun.mpich", "/usr/bin/x"), LauncherKind::kHydra);
  EXPECT_EQ(launcher_kind("/usr/bin/srun", "/usr/bin/srun"), LauncherKind::kSrun);
  EXPECT_EQ(launcher_kind("mpirun", "/opt/some/bin/mpirun"), LauncherKind::kMpi);
  EXPECT_EQ(launcher_kind("mpirunner", "/opt/mpirunner"), LauncherKind::kNone);
}

TEST(Launcher, IsReportedByItsVersion) {
  EXPECT_EQ(launcher_kind_by_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to"),
            LauncherKind::kOpenMpi);
  EXPECT_EQ(launcher_kind_by_version("HYDRA build details:\n    Version: 4.0.2"),
            LauncherKind::kHydra);
  EXPECT_EQ(launcher_kind_by_version(""), LauncherKind::kMpi);
}

TEST(Launcher, OfUnknownMakeIsRefusedWithAWayOut) {
  Words command = {"mpirun", "./app"};
  EXPECT_EQ(add_preload(LauncherKind::kMpi, kPreload, command).message(),
            "cannot determine the MPI of the launcher mpirun; start MegaScope from it: "
            "`mpirun -n 4 megascope run -- ./app`");
}

TEST(OpenMpi, GetsThePreloadAndTheVariablesForEachProgram) {
  EXPECT_THAT(
      rewritten(LauncherKind::kOpenMpi, {"mpirun", "-n", "2", "./a", "x", ":", "-n", "1", "./b"}),
      ElementsAre("mpirun", "-x", "LD_PRELOAD=/opt/lib/libmegascope.so", "-x", "MEGASCOPE_EXPORT",
                  "-x", "MEGASCOPE_OUT", "-n", "2", "./a", "x", ":", "-x",
                  "LD_PRELOAD=/opt/lib/libmegascope.so", "-x", "MEGASCOPE_EXPORT", "-x",
                  "MEGASCOPE_OUT", "-n", "1", "./b"));
}

TEST(OpenMpi, KeepsThePreloadAndTheVariablesOfTheUser) {
  EXPECT_THAT(
      rewritten(LauncherKind::kOpenMpi,
                {"mpirun", "-x", "LD_PRELOAD=a.so", "-x", "MEGASCOPE_OUT=d", "./a"}),
      ElementsAre("mpirun", "-x", "MEGASCOPE_EXPORT", "-x",
                  "LD_PRELOAD=/opt/lib/libmegascope.so:a.so", "-x", "MEGASCOPE_OUT=d", "./a"));
  EXPECT_THAT(rewritten(LauncherKind::kOpenMpi, {"mpirun", "-x", "LD_PRELOAD", "./a"},
                        with_existing("b.so")),
              ElementsAre("mpirun", "-x", "LD_PRELOAD=/opt/lib/libmegascope.so:b.so", "./a"));
}

TEST(Hydra, GetsThePreloadForAllRanks) {
  EXPECT_THAT(rewritten(LauncherKind::kHydra, {"mpiexec", "-n", "2", "./a"}, with_existing("b.so")),
              ElementsAre("mpiexec", "-genv", "LD_PRELOAD", "/opt/lib/libmegascope.so:b.so", "-n",
                          "2", "./a"));
}

TEST(Srun, ExportsAllAndThePreload) {
  EXPECT_THAT(
      rewritten(LauncherKind::kSrun, {"srun", "-n", "2", "./a"}),
      ElementsAre("srun", "--export=ALL,LD_PRELOAD=/opt/lib/libmegascope.so", "-n", "2", "./a"));
}

TEST(Srun, KeepsTheListOfTheUser) {
  EXPECT_THAT(rewritten(LauncherKind::kSrun, {"srun", "--export=ALL,A=1", "./a"}),
              ElementsAre("srun", "--export=ALL,A=1,LD_PRELOAD=/opt/lib/libmegascope.so", "./a"));
  EXPECT_THAT(
      rewritten(LauncherKind::kSrun, {"srun", "--export", "PATH,LD_PRELOAD=a.so", "./a"}),
      ElementsAre("srun", "--export",
                  "PATH,LD_PRELOAD=/opt/lib/libmegascope.so:a.so,MEGASCOPE_EXPORT,MEGASCOPE_OUT",
                  "./a"));
  EXPECT_THAT(
      rewritten(LauncherKind::kSrun, {"srun", "--export=NONE", "./a"}),
      ElementsAre("srun",
                  "--export=LD_PRELOAD=/opt/lib/libmegascope.so,MEGASCOPE_EXPORT,MEGASCOPE_OUT",
                  "./a"));
}

TEST(Srun, KeepsTheListOfTheEnvironment) {
  Preload preload = kPreload;
  preload.slurm_export = "PATH";
  EXPECT_THAT(
      rewritten(LauncherKind::kSrun, {"srun", "./a"}, preload),
      ElementsAre(
          "srun",
          "--export=PATH,LD_PRELOAD=/opt/lib/libmegascope.so,MEGASCOPE_EXPORT,MEGASCOPE_OUT",
          "./a"));
}

TEST(Srun, RefusesAPathThatItsListWouldCut) {
  Preload preload = kPreload;
  preload.library = "/opt/a,b/libmegascope.so";
  Words command = {"srun", "./a"};
  EXPECT_EQ(add_preload(LauncherKind::kSrun, preload, command).message(),
            "srun --export does not support a path with a comma: /opt/a,b/libmegascope.so");
}

TEST(RunShare, DividesByWeightAndLeavesNoneEmpty) {
  EXPECT_THAT(divide({10, 10, 10, 10}, 2), ElementsAre(0, 2));
  EXPECT_THAT(divide({40, 1, 1, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(divide({1, 1, 1, 40}, 2), ElementsAre(0, 3));
  EXPECT_THAT(divide({100, 1, 1}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(divide({0, 0, 0}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(divide({7}, 1), ElementsAre(0));
}

}  // namespace
}  // namespace megascope::cli
