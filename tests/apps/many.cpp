#include "tests/apps/program.h"

#include <cstring>

/// Large numbers: `many calls`, more than a million; `many requests`, 100 000 open at once; `many
/// bytes`, more than 2^31 in one message and in one broadcast.
namespace {

using namespace program;

void many_calls() {
  constexpr int kRounds = 90'000;
  const Who me = who();
  int token = 0;
  double sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    int in = 0;
    MPI_Irecv(&in, 1, MPI_INT, 0, i % 1000, MPI_COMM_SELF, &request);
    MPI_Send(&i, 1, MPI_INT, 0, i % 1000, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&in, &token, 1, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_size(MPI_DOUBLE, &rank);
    sum += token + me.rank;
  }
  say("many calls", sum);
}

void many_requests() {
  constexpr int kCount = 100'000;
  constexpr int kTags = 30'000;
  const Who me = who();
  double sum = 0;
  if (me.rank == 0) {
    std::vector<MPI_Request> requests(kCount);
    std::vector<int> in(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      MPI_Irecv(&in[i], 1, MPI_INT, 1, static_cast<int>(i % kTags), MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(kCount, requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < kCount; ++i) sum += in[i] == static_cast<int>(i) ? 1 : 0;
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kCount; ++i) MPI_Send(&i, 1, MPI_INT, 0, i % kTags, MPI_COMM_WORLD);
  }
  say("many requests", sum);
}

/// 2^31 + 2^20 bytes that lie on one MiB, again and again.
MPI_Datatype make_large_type() {
  constexpr int kPart = 1 << 20;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(2049, kPart, 0, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

void many_bytes() {
  const Who me = who();
  MPI_Datatype type = make_large_type();
  std::vector<char> part(1 << 20);
  std::memset(part.data(), 17 * (me.rank + 1), part.size());
  MPI_Count received = 0;
  if (me.rank == 0) {
    MPI_Send(part.data(), 1, type, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    MPI_Recv(part.data(), 1, type, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_elements_x(&status, MPI_BYTE, &received);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != MPI_UNDEFINED) received = -1;
  }
  say("many bytes", static_cast<double>(received) + part[4711]);
  MPI_Bcast(part.data(), 1, type, 1, MPI_COMM_WORLD);
  say("broadcast", part[0]);
  MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "calls") == 0) many_calls();
  if (std::strcmp(what, "requests") == 0) many_requests();
  if (std::strcmp(what, "bytes") == 0) many_bytes();
  MPI_Finalize();
}
