#include "tests/apps/program.h"

#include <array>
#include <cstring>

/// Programs that are wrong. `misuse returned`: MPI returns errors and the program goes on; `misuse
/// fatal`: MPI ends it; `misuse freed`: a handle is used after its communicator was freed; `misuse
/// unfreed`: requests, communicators, types and files are left open, and a message is never
/// received; `misuse unseen`: no library in front of MPI sees the end.
namespace {

using namespace program;

/// The class of an error, in words.
void report(const char* what, int error) {
  int error_class = 0;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_class(error, &error_class);
  MPI_Error_string(error_class, text.data(), &length);
  if (who().rank == 0) std::printf("%s: %s\n", what, text.data());
}

void wrong_arguments() {
  const Who me = who();
  std::array<int, 16> data{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Datatype type = MPI_INT;
  report("bad rank", MPI_Send(data.data(), 1, MPI_INT, me.size + 7, 1, MPI_COMM_WORLD));
  report("bad source", MPI_Irecv(data.data(), 1, MPI_INT, -77, 1, MPI_COMM_WORLD, &request));
  report("bad tag", MPI_Send(data.data(), 1, MPI_INT, me.next(), -5, MPI_COMM_WORLD));
  report("negative count",
         MPI_Isend(data.data(), -3, MPI_INT, me.next(), 1, MPI_COMM_WORLD, &request));
  report("negative count in a collective", MPI_Bcast(data.data(), -1, MPI_INT, 0, MPI_COMM_WORLD));
  report("no type", MPI_Send(data.data(), 1, MPI_DATATYPE_NULL, me.next(), 1, MPI_COMM_WORLD));
  report("no buffer", MPI_Send(nullptr, 4, MPI_INT, me.next(), 1, MPI_COMM_WORLD));
  report("no communicator", MPI_Barrier(MPI_COMM_NULL));
  report("no communicator to free", MPI_Comm_free(&none));
  report("no operator", MPI_Allreduce(&data[0], &data[1], 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  report("bad root", MPI_Reduce(&data[0], &data[1], 1, MPI_INT, MPI_SUM, me.size, MPI_COMM_WORLD));
  report("bad colour", MPI_Comm_split(MPI_COMM_WORLD, -9, 0, &made));
  report("negative number of requests", MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE));
  report("a free request", MPI_Request_free(&request));
  report("inactive start", MPI_Start(&request));
  report("predefined type", MPI_Type_free(&type));
  report("no group", MPI_Group_size(MPI_GROUP_NULL, data.data()));
  report("no file", MPI_File_sync(MPI_FILE_NULL));
  report("no window", MPI_Win_fence(0, MPI_WIN_NULL));
}

void truncated() {
  const Who me = who();
  const std::array<int, 16> out{};
  std::array<int, 2> in{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), 2, MPI_INT, me.previous(), 3, MPI_COMM_WORLD, &request);
  MPI_Send(out.data(), 16, MPI_INT, me.next(), 3, MPI_COMM_WORLD);
  report("truncated", MPI_Wait(&request, MPI_STATUS_IGNORE));
  report("truncated in both",
         MPI_Sendrecv(out.data(), 16, MPI_INT, me.next(), 4, in.data(), 1, MPI_INT, me.previous(),
                      4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/// A copy of the handle is used after the communicator was freed. A receive that is still open
/// keeps its memory.
void freed_communicator() {
  const Who me = who();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int size = 0;
  int in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&in, 1, MPI_INT, me.previous(), 5, comm, &request);
  const MPI_Comm copy = comm;
  MPI_Comm_free(&comm);
  report("freed communicator", MPI_Send(&me.rank, 1, MPI_INT, me.next(), 5, copy));
  report("its size", MPI_Comm_size(copy, &size));
  report("its request", MPI_Wait(&request, MPI_STATUS_IGNORE));
  say("came", in + size);
}

/// Not wrong, only rare: nothing to send, no rank to send to.
void nothing() {
  const Who me = who();
  MPI_Status status;
  MPI_Sendrecv(nullptr, 0, MPI_INT, me.next(), 6, nullptr, 0, MPI_INT, me.previous(), 6,
               MPI_COMM_WORLD, &status);
  MPI_Recv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  report("proc null", status.MPI_SOURCE == MPI_PROC_NULL ? MPI_SUCCESS : MPI_ERR_OTHER);
  report("no data", MPI_Allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, MPI_COMM_WORLD));
  report("no requests", MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE));
}

void unfreed() {
  const Who me = who();
  static std::array<int, 8> data{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_File file = MPI_FILE_NULL;
  MPI_Irecv(data.data(), 1, MPI_INT, me.previous(), 7, MPI_COMM_WORLD, &request);
  MPI_Isend(&data[1], 1, MPI_INT, me.next(), 8, MPI_COMM_WORLD,
            &request);  // small: it is on its way, and no rank receives it
  MPI_Send_init(&data[2], 1, MPI_INT, me.next(), 9, MPI_COMM_WORLD, &request);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_File_open(MPI_COMM_SELF, me.rank == 0 ? "left_open.0" : "left_open.1",
                MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write(file, data.data(), 8, MPI_INT, MPI_STATUS_IGNORE);
  say("left open", me.rank);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "returned") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_arguments();
    truncated();
    nothing();
  }
  if (std::strcmp(what, "freed") == 0) freed_communicator();
  if (std::strcmp(what, "unfreed") == 0) unfreed();
  if (std::strcmp(what, "fatal") == 0) {
    say("before", 1);
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    int value = 0;
    MPI_Send(&value, 1, MPI_INT, who().size, 1, MPI_COMM_WORLD);
  }
  if (std::strcmp(what, "unseen") == 0) {
    say("goes on unseen", 1);
    return PMPI_Finalize();
  }
  MPI_Finalize();
}
