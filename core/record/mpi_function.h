#pragma once

#include <cstdint>
#include <string_view>

namespace megascope {

/// Properties of an MPI function that readers need and that the definitions of a run do not
/// contain. They are looked up by name, so that they are available for traces of other versions and
/// for imported runs. Source: MPI-4.1.
struct MpiFunction {
  enum class Use : std::uint8_t {
    kOther,
    kWait,  ///< waits for requests: MPI_Wait, MPI_Waitall, MPI_Waitany, MPI_Waitsome
    kPoll,  ///< tests requests or probes for messages without waiting: MPI_Test, MPI_Iprobe and
            ///< similar
  };

  Use use = Use::kOther;
  bool starts_mpi = false;     ///< MPI_Init, MPI_Init_thread, MPI_Session_init
  bool ends_mpi = false;       ///< MPI_Finalize, MPI_Session_finalize
  bool reads_time = false;     ///< MPI_Wtime
  bool completes_all = false;  ///< completes all requests or none: MPI_Waitall, MPI_Testall
  /// the call returns before other ranks take part (MPI-4.1 §2.4.2). Not set for operations on
  /// files and windows.
  bool is_nonblocking = false;
  bool is_buffered = false;       ///< a send in buffered mode (§3.4)
  bool is_synchronous = false;    ///< a send in synchronous mode
  bool is_neighbourhood = false;  ///< a collective among neighbours of a topology (§8.6)
  bool connects_worlds = false;   ///< waits for processes of another group, to which it connects
                                  ///< (§11)
};

/// Returns the properties of a function. name: the full name, such as "MPI_Send". For other names
/// all properties are false. Any thread. Compares texts: call it once for each region.
MpiFunction mpi_function(std::string_view name) noexcept;

}  // namespace megascope
