#include "tests/faults/launch.h"

#include <string_view>

namespace megascope::faults {

bool is_mpich() { return std::string_view(MEGASCOPE_TEST_MPI) == "mpich"; }

std::vector<std::string> launcher() {
  if (is_mpich()) return {MEGASCOPE_TEST_MPIRUN};
  return {MEGASCOPE_TEST_MPIRUN, "--oversubscribe"};
}

std::vector<std::string> ranks_with(int rank_count, const std::string& preload) {
  std::vector<std::string> words = {"-n", std::to_string(rank_count)};
  if (preload.empty()) return words;
  if (is_mpich())
    words.insert(words.end(), {"-env", "LD_PRELOAD", preload});
  else
    words.insert(words.end(), {"-x", "LD_PRELOAD=" + preload});
  return words;
}

std::vector<std::string> launch_environment(int rank_count) {
  if (is_mpich()) return {};
  std::vector<std::string> entries = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                      "OMPI_MCA_mpi_yield_when_idle=1",
                                      "OMPI_MCA_rmaps_base_oversubscribe=1",
                                      "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                      "OMPI_MCA_pml=ob1",
                                      "OMPI_MCA_orte_abort_print_stack=0",
                                      "OMPI_MCA_osc=sm,rdma,pt2pt"};
  if (rank_count == 0)
    entries.insert(entries.end(), {"OMPI_MCA_ess_singleton_isolated=1", "OMPI_MCA_btl=self"});
  else
    entries.emplace_back("OMPI_MCA_btl=self,vader");
  return entries;
}

const char* rank_variable() { return is_mpich() ? "PMI_RANK" : "OMPI_COMM_WORLD_RANK"; }

}  // namespace megascope::faults
