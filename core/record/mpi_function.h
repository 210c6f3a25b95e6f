#pragma once

#include <cstdint>
#include <string_view>

namespace megascope {

/// What readers need to know of an MPI function that the definitions of a run do not contain. By
/// name, so that it holds for traces of other versions and for imports. Source: MPI-4.1.
struct MpiFunction {
  enum class Use : std::uint8_t {
    kOther,
    kWait,  ///< waits for requests: MPI_Wait ...
    kPoll,  ///< asks for requests or messages without waiting: MPI_Test ..., MPI_Iprobe
  };

  Use use = Use::kOther;
  bool starts_mpi = false;     ///< MPI_Init, MPI_Init_thread, MPI_Session_init
  bool ends_mpi = false;       ///< MPI_Finalize
  bool reads_time = false;     ///< MPI_Wtime
  bool completes_all = false;  ///< completes all requests or none: MPI_Waitall, MPI_Testall
  /// Returns before other ranks take part (MPI-4.1 §2.4.2). Not set for operations on files and
  /// windows.
  bool is_nonblocking = false;
  bool is_buffered = false;       ///< a send in buffered mode (§3.4)
  bool is_synchronous = false;    ///< a send in synchronous mode
  bool is_neighbourhood = false;  ///< a collective among neighbours of a topology (§8.6)
  bool meets_world = false;       ///< waits for a group that is not connected yet (§11)
};

/// Returns the properties of a function. name: with MPI_, as in a RegionDefinition; all are false
/// for other names. Any thread. Compares texts: call it once for each region.
MpiFunction mpi_function(std::string_view name) noexcept;

}  // namespace megascope
