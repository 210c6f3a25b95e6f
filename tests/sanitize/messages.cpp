#include "tests/sanitize/parts.h"

#include <array>
#include <vector>

namespace megascope::sanitize {
namespace {

constexpr int kManyMessages = 8000;  ///< more than a buffer of a thread holds at first, so that it
                                     ///< is filled and begun anew
constexpr int kRequestCount = 40;

}  // namespace

void send_and_receive(Ledger& ledger, Place place, MPI_Comm comm) {
  std::array<double, 5> out{};
  std::array<double, 5> in{};
  MPI_Status status;
  for (int i = 0; i < kManyMessages; ++i) {
    CALL(ledger, Sendrecv, out.data(), i % 6, MPI_DOUBLE, place.right(), 1, in.data(), 5,
         MPI_DOUBLE, place.left(), 1, comm, i % 2 == 0 ? &status : MPI_STATUS_IGNORE);
    ledger.sent(1, 8U * static_cast<unsigned>(i % 6));
  }
  CALL(ledger, Sendrecv_replace, out.data(), 5, MPI_DOUBLE, place.right(), 2, place.left(),
       MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  ledger.sent(1, 40);
  MPI_Request request = MPI_REQUEST_NULL;
  CALL(ledger, Irecv, in.data(), 5, MPI_DOUBLE, MPI_ANY_SOURCE, 3, comm, &request);
  CALL(ledger, Ssend, out.data(), 2, MPI_DOUBLE, place.right(), 3, comm);
  ledger.sent(1, 16);
  CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
  CALL(ledger, Send, out.data(), 3, MPI_DOUBLE, MPI_PROC_NULL, 4, comm);
  CALL(ledger, Recv, out.data(), 3, MPI_DOUBLE, MPI_PROC_NULL, 4, comm, &status);
}

void make_requests(Ledger& ledger, Place place, MPI_Comm comm) {
  std::vector<int> out(kRequestCount, place.rank);
  std::vector<int> in(kRequestCount);
  std::vector<MPI_Request> requests(2 * kRequestCount, MPI_REQUEST_NULL);
  std::vector<MPI_Status> statuses(requests.size());
  std::vector<int> indices(requests.size());
  const auto start_all = [&] {
    for (int i = 0; i < kRequestCount; ++i) {
      CALL(ledger, Irecv, &in[static_cast<std::size_t>(i)], 1, MPI_INT, place.left(), i, comm,
           &requests[static_cast<std::size_t>(2 * i)]);
    }
    for (int i = 0; i < kRequestCount; ++i) {
      CALL(ledger, Isend, &out[static_cast<std::size_t>(i)], 1, MPI_INT, place.right(), i, comm,
           &requests[static_cast<std::size_t>(2 * i + 1)]);
    }
    ledger.sent(kRequestCount, sizeof(int) * kRequestCount);
  };
  const int count = static_cast<int>(requests.size());
  int index = 0;
  int flag = 0;
  start_all();
  CALL(ledger, Waitall, count, requests.data(), MPI_STATUSES_IGNORE);
  start_all();
  CALL(ledger, Waitall, count, requests.data(), statuses.data());
  CALL(ledger, Waitall, 0, nullptr, MPI_STATUSES_IGNORE);
  start_all();
  while (flag == 0) CALL(ledger, Testall, count, requests.data(), &flag, MPI_STATUSES_IGNORE);
  start_all();
  for (index = 0; index != MPI_UNDEFINED;)
    CALL(ledger, Waitany, count, requests.data(), &index, MPI_STATUS_IGNORE);
  start_all();
  for (int done = 0; done != MPI_UNDEFINED;)
    CALL(ledger, Waitsome, count, requests.data(), &done, indices.data(), statuses.data());
  start_all();
  for (int done = 0; done != MPI_UNDEFINED;)
    CALL(ledger, Testsome, count, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
  start_all();
  for (flag = index = 0; flag == 0 || index != MPI_UNDEFINED;)
    CALL(ledger, Testany, count, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  start_all();
  for (MPI_Request& request : requests) {
    for (flag = 0; flag == 0;) CALL(ledger, Test, &request, &flag, MPI_STATUS_IGNORE);
  }
}

void restart_requests(Ledger& ledger, Place place, MPI_Comm comm) {
  constexpr int kRounds = 20;
  std::array<MPI_Request, 4> requests{};
  std::array<int, 4> values{};
  CALL(ledger, Recv_init, &values[0], 1, MPI_INT, place.left(), 10, comm, &requests[0]);
  CALL(ledger, Recv_init, &values[1], 1, MPI_INT, MPI_ANY_SOURCE, 11, comm, &requests[1]);
  CALL(ledger, Send_init, &values[2], 1, MPI_INT, place.right(), 10, comm, &requests[2]);
  CALL(ledger, Send_init, &values[3], 1, MPI_INT, place.right(), 11, comm, &requests[3]);
  for (int round = 0; round < kRounds; ++round) {
    CALL(ledger, Startall, 3, requests.data());
    CALL(ledger, Start, &requests[3]);
    ledger.sent(2, 2 * sizeof(int));
    CALL(ledger, Waitall, 4, requests.data(), MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& request : requests) CALL(ledger, Request_free, &request);
}

void probe_and_fail(Ledger& ledger, Place place) {
  MPI_Comm comm = MPI_COMM_NULL;
  CALL(ledger, Comm_dup, MPI_COMM_WORLD, &comm);
  CALL(ledger, Comm_set_errhandler, comm, MPI_ERRORS_RETURN);
  std::array<int, 4> out{};
  std::array<int, 4> in{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = 0;
  // A matched probe and its receive.
  CALL(ledger, Isend, out.data(), 4, MPI_INT, place.right(), 20, comm, &request);
  CALL(ledger, Mprobe, MPI_ANY_SOURCE, 20, comm, &message, &status);
  CALL(ledger, Mrecv, in.data(), 4, MPI_INT, &message, MPI_STATUS_IGNORE);
  CALL(ledger, Wait, &request, &status);
  // Probed until it is there, then received whoever sent it.
  CALL(ledger, Isend, out.data(), 3, MPI_INT, place.right(), 21, comm, &request);
  while (flag == 0) CALL(ledger, Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
  CALL(ledger, Recv, in.data(), 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
  // A message that is cut.
  CALL(ledger, Isend, out.data(), 4, MPI_INT, place.right(), 22, comm, &request);
  CALL(ledger, Recv, in.data(), 1, MPI_INT, place.left(), 22, comm, MPI_STATUS_IGNORE);
  CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
  ledger.sent(3, sizeof(int) * (4 + 3 + 4));
  // A call that is refused, a receive that is cancelled, one that is let go.
  CALL(ledger, Send, out.data(), 1, MPI_INT, place.size + 5, 23, comm);
  CALL(ledger, Irecv, in.data(), 1, MPI_INT, place.left(), 24, comm, &request);
  CALL(ledger, Cancel, &request);
  CALL(ledger, Wait, &request, &status);
  CALL(ledger, Isend, out.data(), 1, MPI_INT, place.right(), 25, comm, &request);
  ledger.sent(1, sizeof(int));
  CALL(ledger, Request_free, &request);
  CALL(ledger, Recv, in.data(), 1, MPI_INT, place.left(), 25, comm, MPI_STATUS_IGNORE);
  CALL(ledger, Comm_free, &comm);
}

}  // namespace megascope::sanitize
