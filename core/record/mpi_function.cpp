#include "core/record/mpi_function.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace megascope {
namespace {

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::string_view kWaits[] = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"};
constexpr std::string_view kPolls[] = {
    "MPI_Test",   "MPI_Testall", "MPI_Testany",           "MPI_Testsome",
    "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"};
constexpr std::string_view kStarts[] = {"MPI_Init", "MPI_Init_thread", "MPI_Session_init"};
constexpr std::string_view kEnds[] = {"MPI_Finalize", "MPI_Session_finalize"};
constexpr std::string_view kCompletingAll[] = {"MPI_Waitall", "MPI_Testall"};
constexpr std::string_view kBuffered[] = {"MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"};
constexpr std::string_view kSynchronous[] = {"MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"};
constexpr std::string_view kConnecting[] = {"MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join",
                                            "MPI_Comm_spawn", "MPI_Comm_spawn_multiple"};
/// Names that begin as those of nonblocking functions do.
constexpr std::string_view kOthersWithI[] = {
    "MPI_Init",           "MPI_Init_thread",      "MPI_Initialized",
    "MPI_Is_thread_main", "MPI_Intercomm_create", "MPI_Intercomm_create_from_groups",
    "MPI_Intercomm_merge"};

bool is_nonblocking(std::string_view name) {
  if (name == "MPI_Comm_idup" || name == "MPI_Comm_idup_with_info") return true;
  return name.starts_with("MPI_I") && !name.starts_with("MPI_Info_") &&
         !is_one_of(name, kOthersWithI);
}

}  // namespace

MpiFunction mpi_function(std::string_view name) noexcept {
  MpiFunction function;
  if (!name.starts_with("MPI_")) return function;
  if (is_one_of(name, kWaits)) function.use = MpiFunction::Use::kWait;
  if (is_one_of(name, kPolls)) function.use = MpiFunction::Use::kPoll;
  function.starts_mpi = is_one_of(name, kStarts);
  function.ends_mpi = is_one_of(name, kEnds);
  function.reads_time = name == "MPI_Wtime";
  function.completes_all = is_one_of(name, kCompletingAll);
  function.is_nonblocking = is_nonblocking(name);
  function.is_buffered = is_one_of(name, kBuffered);
  function.is_synchronous = is_one_of(name, kSynchronous);
  function.is_neighbourhood = name.find("eighbor_") != std::string_view::npos;
  function.connects_worlds = is_one_of(name, kConnecting);
  return function;
}

}  // namespace megascope
