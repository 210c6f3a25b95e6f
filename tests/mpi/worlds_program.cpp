#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/// Worlds that meet, in every way that MPI has. Prints what it did and exits with 0 when all was as
/// it should be.
///
///   worlds_program spawn | multiple | refused      starts itself again
///   worlds_program within                          two halves of one world accept and connect
///   worlds_program join SOCKET                     two ranks of one world, over a socket of that
///   name worlds_program serve FILE, connect FILE        two jobs; the port is in the file
namespace {

int g_rank = 0;
int g_size = 1;

void expect(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "worlds_program: %s\n", what);
  std::abort();
}

/// Messages, collectives and derived communicators between the two sides. Symmetric but for
/// is_high.
void exchange(MPI_Comm other, bool is_high) {
  int remote_size = 0;
  MPI_Comm_remote_size(other, &remote_size);
  int in = 0;
  if (g_rank == 0) {
    const int out = is_high ? 2 : 1;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, other, MPI_STATUS_IGNORE);
    expect(in == (is_high ? 1 : 2), "a message of the other world");
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, requests.data());
    MPI_Isend(&out, 1, MPI_INT, 0, 8, other, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
  expect(sum == remote_size, "the others' sum");
  MPI_Comm merged;
  MPI_Intercomm_merge(other, is_high ? 1 : 0, &merged);
  MPI_Bcast(&sum, 1, MPI_INT, 0, merged);
  MPI_Request request;
  MPI_Ibarrier(merged, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm own;
  MPI_Comm_split(merged, is_high ? 1 : 0, g_rank, &own);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own);
  expect(sum == g_size, "the own half");
  MPI_Comm_free(&own);
  MPI_Comm_free(&merged);
}

int be_child(MPI_Comm parent) {
  exchange(parent, true);
  MPI_Comm again;
  MPI_Comm_get_parent(&again);
  expect(again == parent, "the same parent");
  MPI_Comm_disconnect(&parent);
  return 0;
}

void spawn(const char* program) {
  MPI_Comm child;
  std::array<int, 2> errors{};
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                 errors.data());
  exchange(child, false);
  MPI_Comm_disconnect(&child);
}

void spawn_multiple(std::string program) {
  std::array<char*, 2> programs = {program.data(), program.data()};
  std::array<int, 2> counts = {1, 2};
  std::array<MPI_Info, 2> infos = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm child;
  MPI_Comm_spawn_multiple(2, programs.data(), MPI_ARGVS_NULL, counts.data(), infos.data(), 0,
                          MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
  exchange(child, false);
  MPI_Comm_disconnect(&child);
}

/// MPI refuses: the program gets its error, and goes on.
void spawn_nothing() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm child = MPI_COMM_NULL;
  expect(MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, g_size, MPI_COMM_WORLD, &child,
                        MPI_ERRCODES_IGNORE) != MPI_SUCCESS,
         "no such root");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The lower half accepts, the upper one connects; both are of this world, so all of it is told.
void meet_within() {
  const bool is_high = g_rank >= g_size / 2;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, is_high ? 1 : 0, g_rank, &half);
  std::array<char, MPI_MAX_PORT_NAME> port{};
  if (g_rank == 0) MPI_Open_port(MPI_INFO_NULL, port.data());
  MPI_Bcast(port.data(), MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm other;
  if (is_high)
    MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, half, &other);
  else
    MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, half, &other);
  int rank = 0;
  MPI_Comm_rank(other, &rank);
  int in = -1;
  if (is_high)
    MPI_Recv(&in, 1, MPI_INT, rank, 3, other, MPI_STATUS_IGNORE);
  else
    MPI_Send(&rank, 1, MPI_INT, rank, 3, other);
  MPI_Barrier(other);
  MPI_Comm_disconnect(&other);
  if (g_rank == 0) MPI_Close_port(port.data());
  MPI_Comm_free(&half);
}

/// A connected socket between the two ranks.
int socket_between(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (g_rank == 0) {
    expect(bind(fd, where, sizeof address) == 0 && listen(fd, 1) == 0, "a socket");
    MPI_Barrier(MPI_COMM_WORLD);
    return accept(fd, nullptr, nullptr);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect(connect(fd, where, sizeof address) == 0, "a connection");
  return fd;
}

void join(const char* path) {
  MPI_Comm other = MPI_COMM_NULL;
  expect(MPI_Comm_join(socket_between(path), &other) == MPI_SUCCESS, "joined");
  int in = -1;
  MPI_Sendrecv(&g_rank, 1, MPI_INT, 0, 4, &in, 1, MPI_INT, 0, 4, other, MPI_STATUS_IGNORE);
  expect(in == 1 - g_rank, "a message over what was joined");
  MPI_Comm_disconnect(&other);
}

void serve(const char* path) {
  std::array<char, MPI_MAX_PORT_NAME> port{};
  if (g_rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port.data());
    const std::string unfinished = std::string(path) + ".new";
    std::FILE* file = std::fopen(unfinished.c_str(), "w");
    expect(file != nullptr, "a file for the port");
    std::fputs(port.data(), file);
    std::fclose(file);
    expect(std::rename(unfinished.c_str(), path) == 0, "the file's name");
  }
  MPI_Comm other;
  MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
  exchange(other, false);
  MPI_Comm_disconnect(&other);
  if (g_rank == 0) MPI_Close_port(port.data());
}

void connect_to(const char* path) {
  std::array<char, MPI_MAX_PORT_NAME> port{};
  if (g_rank == 0) {
    std::FILE* file = nullptr;
    for (int i = 0; i < 2000 && file == nullptr; ++i) {
      file = std::fopen(path, "r");
      if (file == nullptr) usleep(10'000);
    }
    expect(file != nullptr && std::fgets(port.data(), MPI_MAX_PORT_NAME, file) != nullptr,
           "the port");
    std::fclose(file);
  }
  MPI_Comm other;
  MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
  exchange(other, true);
  MPI_Comm_disconnect(&other);
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "spawn")
    spawn(argv[0]);
  else if (what == "multiple")
    spawn_multiple(argv[0]);
  else if (what == "refused")
    spawn_nothing();
  else if (what == "within")
    meet_within();
  else if (what == "join" && argc > 2)
    join(argv[2]);
  else if (what == "serve" && argc > 2)
    serve(argv[2]);
  else if (what == "connect" && argc > 2)
    connect_to(argv[2]);
  else
    return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  const int status = parent == MPI_COMM_NULL ? run(argc, argv) : be_child(parent);
  if (g_rank == 0) std::puts(parent == MPI_COMM_NULL ? "parent done" : "child done");
  MPI_Finalize();
  return status;
}
