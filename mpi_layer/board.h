#pragma once

#include <cstdint>
#include <string>

/// Notices that the launcher keeps for the processes of a job, by rank and key, without a message
/// of MPI and without ever waiting for another process. One source file a kind of launcher; which
/// one is chosen when the library is built.
namespace megascope::mpi::board {

enum class Answer : std::uint8_t {
  kText,
  kNothing,  ///< nothing is there (yet)
  kError,    ///< of the launcher, which may be gone
};

/// Before PMPI_Init. false: this launcher cannot be asked; put and get must not be called then.
bool open();
/// text: without blanks and line ends, at most 200 bytes. What is put before PMPI_Init can be read
/// by all ranks after it.
bool put(const char* key, const std::string& text);
/// What `rank` of this process's world has put up. One local question.
Answer get(std::int32_t rank, const char* key, std::string& text);
/// The same of what was put up after PMPI_Init, asked of the other's node again (under Slurm 0.5
/// ms; elsewhere a second at most). kText, and no text, where such things cannot be seen and nobody
/// has to wait for them.
Answer get_late(std::int32_t rank, const char* key, std::string& text);
/// After PMPI_Init. Where the MPI library has the same connection, ours is given back; it serves
/// until PMPI_Finalize. Then a program whose end we do not see (PMPI_Finalize, or MPI_Finalize
/// found by dlsym) has ended well for its launcher.
void share();
/// Before PMPI_Finalize.
void close();

/// What the launcher calls this process's MPI_COMM_WORLD, and the one whose MPI_Comm_spawn started
/// it: empty where it does not say. The same names appear in both worlds. After PMPI_Init.
std::string own_world();
std::string parent_world();

/// What to tell people when open() said no.
extern const char* const kWhyNot;

}  // namespace megascope::mpi::board
