#include "refusal.h"

#include <cstdint>

namespace gpt {

void broadcast(std::string& text, int root) {
  std::uint64_t bytes = text.size();
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, root, MPI_COMM_WORLD);
  text.resize(bytes);
  MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, root, MPI_COMM_WORLD);
}

void refuse_together(const std::string& problem) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int mine = problem.empty() ? ranks : rank;
  int first = ranks;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == ranks) return;
  std::string text = problem;
  broadcast(text, first);
  throw Refusal(text);
}

}  // namespace gpt
