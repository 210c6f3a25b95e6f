#pragma once

#include <cstdint>
#include <string>

/// The launcher's key-value store (PMIx or PMI): entries of the processes of a job, by rank and
/// key. No MPI message is sent, and no call waits for another process. One source file for each
/// kind of launcher, chosen when the library is built.
namespace megascope::mpi::launcher_store {

enum class Answer : std::uint8_t {
  kText,     ///< there is an entry; `text` receives it
  kNothing,  ///< there is no such entry, or not yet
  kError,    ///< the launcher failed or is gone
};

/// Connects to the launcher. Call before PMPI_Init. Returns false if the launcher has no key-value
/// store; put() and get() must not be called then.
bool open();
/// Stores an entry of this process. text: no blanks or line ends, at most 200 bytes. Entries stored
/// before PMPI_Init are visible to all ranks after it. Returns false on failure.
bool put(const char* key, const std::string& text);
/// Reads an entry that `rank` stored before PMPI_Init. rank: in this process's MPI_COMM_WORLD. One
/// query to the launcher's process on this node. Call after PMPI_Init.
Answer get(std::int32_t rank, const char* key, std::string& text);
/// Reads an entry that `rank` stored after PMPI_Init. Queries the launcher's process on the node of
/// `rank` (Slurm: 0.5 ms; others: at most 1 s). PMI (MPICH) cannot read
/// entries that were stored after PMPI_Init, and no rank has to wait for them, because MPI_Init
/// returns only when all ranks have entered it: with PMI, returns kText with an empty text.
Answer get_late(std::int32_t rank, const char* key, std::string& text);
/// Closes this connection to the launcher if the MPI library has opened one as well; get() then
/// uses that of MPI until PMPI_Finalize. Call after PMPI_Init. A program whose end is not
/// intercepted (PMPI_Finalize, or MPI_Finalize found by dlsym) then ends normally for its launcher.
void share();
/// Closes the connection. Call before PMPI_Finalize.
void close();

/// Return the launcher's name of this process's MPI_COMM_WORLD, and of the one that spawned it by
/// MPI_Comm_spawn; empty if the launcher has none. Both worlds use the same names. After PMPI_Init.
std::string own_world();
std::string parent_world();

/// Text for the user that explains why open() returned false.
extern const char* const kWhyNot;

}  // namespace megascope::mpi::launcher_store
