#include "tests/mpi/collective.h"

#include <array>
#include <vector>

/// Calls that fail, under MPI_ERRORS_RETURN: they leave their error code, and no message or
/// collective. Only a truncated receive has received.
namespace megascope::mpitest {
namespace {

/// The world returns errors while this lives.
struct ErrorsReturn {
  ErrorsReturn() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
  ~ErrorsReturn() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
};
Lines with_errors(const Lines& calls) {
  Lines lines = {"MPI_Comm_set_errhandler on world"};
  lines.insert(lines.end(), calls.begin(), calls.end());
  lines.emplace_back("MPI_Comm_set_errhandler on world");
  return lines;
}
std::string failed(const std::string& call, int error) { return call + text(" | error %d", error); }

const Scenario kArguments(
    "MpiSend.ThatFailsLeavesItsErrorAndNoMessage",
    [](const Who& me) {
      const ErrorsReturn returning;
      int value = 0;
      const int no_rank = me.size;
      MPI_Request request = MPI_REQUEST_NULL;
      expect(error_class(MPI_Send(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD)) == MPI_ERR_RANK,
             "wrong peer");
      MPI_Isend(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD, &request);
      MPI_Recv(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Irecv(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD, &request);
      MPI_Sendrecv(&value, 1, MPI_INT, no_rank, 1, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Sendrecv_replace(&value, 1, MPI_INT, no_rank, 1, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send_init(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD, &request);
      MPI_Recv_init(&value, 1, MPI_INT, no_rank, 1, MPI_COMM_WORLD, &request);
      MPI_Probe(no_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(error_class(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD)) == MPI_ERR_TAG,
             "wrong tag");
      MPI_Isend(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &request);
      MPI_Recv(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(error_class(MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD)) == MPI_ERR_COUNT,
             "wrong count");
      expect(
          error_class(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD)) == MPI_ERR_TYPE,
          "wrong type");
      expect(request == MPI_REQUEST_NULL, "no request was made");
    },
    [](const Who&) {
      return with_errors(
          {failed("MPI_Send on world", MPI_ERR_RANK), failed("MPI_Isend on world", MPI_ERR_RANK),
           failed("MPI_Recv on world", MPI_ERR_RANK), failed("MPI_Irecv on world", MPI_ERR_RANK),
           failed("MPI_Sendrecv on world", MPI_ERR_RANK),
           failed("MPI_Sendrecv_replace on world", MPI_ERR_RANK),
           failed("MPI_Send_init on world", MPI_ERR_RANK),
           failed("MPI_Recv_init on world", MPI_ERR_RANK),
           failed("MPI_Probe on world", MPI_ERR_RANK), failed("MPI_Send on world", MPI_ERR_TAG),
           failed("MPI_Isend on world", MPI_ERR_TAG), failed("MPI_Recv on world", MPI_ERR_TAG),
           failed("MPI_Send on world", MPI_ERR_COUNT), failed("MPI_Send on world", MPI_ERR_TYPE)});
    });

/// Of the first rank alone: those that did not fail number the collectives that follow alike.
const Scenario kRoot(
    "MpiBcast.ThatFailsIsNotCounted",
    [](const Who& me) {
      const ErrorsReturn returning;
      int value = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      if (me.rank == 0) {
        expect(error_class(MPI_Bcast(&value, 1, MPI_INT, me.size, MPI_COMM_WORLD)) == MPI_ERR_ROOT,
               "wrong root");
        MPI_Ibcast(&value, 1, MPI_INT, me.size, MPI_COMM_WORLD, &request);
        MPI_Gather(&value, 1, MPI_INT, kBogusBuffer, 1, MPI_INT, me.size, MPI_COMM_WORLD);
        MPI_Allreduce(&value, kBogusBuffer, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Reduce(&value, kBogusBuffer, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD);
      }
      MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    [](const Who& me) {
      Lines lines;
      if (me.rank == 0) {
        lines = {failed("MPI_Bcast on world", MPI_ERR_ROOT),
                 failed("MPI_Ibcast on world", MPI_ERR_ROOT),
                 failed("MPI_Gather on world", MPI_ERR_ROOT),
                 failed("MPI_Allreduce on world", MPI_ERR_COUNT),
                 failed("MPI_Reduce on world", MPI_ERR_OP)};
      }
      lines.insert(lines.end(), {text("MPI_Bcast on world | coll #0 root 0 sent %d received 4",
                                      me.rank == 0 ? 4 * me.size : 0),
                                 "MPI_Ibarrier on world | icoll r1 #1 sent 0 received 0",
                                 "MPI_Wait | done r1 in world #1 sent 0 received 0"});
      return with_errors(lines);
    },
    on_ranks_of({1, 2, 4}, {}));  // MPICH copies before it looks at the count

/// Where a program passes no counts at all, MPI says so (Open MPI not in all functions).
const Scenario kNoCounts(
    "MpiAlltoallv.WithoutCountsIsAnError",
    [](const Who&) {
      const ErrorsReturn returning;
      std::array<int, 4> out{};
      std::array<int, 4> in{};
      const std::array<int, 4> starts{};
      int rc = MPI_Alltoallv(out.data(), nullptr, nullptr, MPI_INT, in.data(), nullptr, nullptr,
                             MPI_INT, MPI_COMM_WORLD);
      expect(error_class(rc) == MPI_ERR_ARG, "no counts");
      MPI_Alltoallw(out.data(), nullptr, nullptr, nullptr, in.data(), nullptr, nullptr, nullptr,
                    MPI_COMM_WORLD);
      MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_INT, in.data(), nullptr, nullptr, MPI_INT,
                    MPI_COMM_WORLD);
      MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, in.data(), nullptr, nullptr, nullptr,
                    MPI_COMM_WORLD);
      MPI_Reduce_scatter(out.data(), in.data(), nullptr, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      // On one process alone, so that each is the root.
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
      MPI_Gatherv(out.data(), 1, MPI_INT, in.data(), nullptr, starts.data(), MPI_INT, 0,
                  MPI_COMM_SELF);
      MPI_Scatterv(out.data(), nullptr, starts.data(), MPI_INT, in.data(), 1, MPI_INT, 0,
                   MPI_COMM_SELF);
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    },
    [](const Who&) {
      return with_errors(
          {failed("MPI_Alltoallv on world", MPI_ERR_ARG),
           failed("MPI_Alltoallw on world", MPI_ERR_ARG),
           failed("MPI_Alltoallv on world", MPI_ERR_ARG),
           failed("MPI_Alltoallw on world", MPI_ERR_ARG),
           failed("MPI_Reduce_scatter on world", MPI_ERR_COUNT), "MPI_Comm_set_errhandler on self",
           failed("MPI_Gatherv on self", MPI_ERR_COUNT),
           failed("MPI_Scatterv on self", MPI_ERR_COUNT), "MPI_Comm_set_errhandler on self"});
    },
    on_ranks_of({1, 2, 4}, {}));  // MPICH reads them

/// Again of the first rank alone; what the others make with it afterwards has one name for all (as
/// of every run is checked).
const Scenario kCreation(
    "MpiCommSplit.ThatFailsMakesNothing",
    [](const Who& me) {
      const ErrorsReturn returning;
      MPI_Comm comm = MPI_COMM_NULL;
      if (me.rank == 0) {
        expect(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &comm) != MPI_SUCCESS, "wrong color");
        MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &comm);
      }
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_name(comm, "after errors");
      MPI_Barrier(comm);
      MPI_Comm_free(&comm);
    },
    [](const Who& me) {
      Lines lines;
      if (me.rank == 0) lines.assign(2, failed("MPI_Comm_split on world", MPI_ERR_ARG));
      lines.insert(lines.end(),
                   {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created after errors",
                    "MPI_Comm_set_name on after errors",
                    "MPI_Barrier on after errors | coll #0 sent 0 received 0",
                    "MPI_Comm_free on after errors | ended after errors"});
      return with_errors(lines);
    },
    on_ranks_of({1, 2, 4}, {}));  // MPICH takes any colour

const Scenario kCommNull(
    "MpiCommNull.IsAnErrorOnNoCommunicator",
    [](const Who&) {
      const ErrorsReturn returning;
      int value = 0;
      MPI_Comm none = MPI_COMM_NULL;
      MPI_Comm made = MPI_COMM_NULL;
      MPI_Request request = MPI_REQUEST_NULL;
      expect(error_class(MPI_Send(&value, 1, MPI_INT, 0, 1, none)) == MPI_ERR_COMM,
             "no communicator");
      MPI_Isend(&value, 1, MPI_INT, 0, 1, none, &request);
      MPI_Recv(&value, 1, MPI_INT, 0, 1, none, MPI_STATUS_IGNORE);
      MPI_Irecv(&value, 1, MPI_INT, 0, 1, none, &request);
      MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, none, MPI_STATUS_IGNORE);
      MPI_Barrier(none);
      MPI_Ibarrier(none, &request);
      MPI_Gather(&value, 1, MPI_INT, &value, 1, MPI_INT, 0, none);
      MPI_Comm_rank(none, &value);
      MPI_Comm_dup(none, &made);
      MPI_Comm_split(none, 0, 0, &made);
      MPI_Comm_free(&none);
      expect(request == MPI_REQUEST_NULL && made == MPI_COMM_NULL, "nothing was made");
    },
    [](const Who&) {
      Lines lines;
      for (const char* function : {"MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Irecv", "MPI_Sendrecv",
                                   "MPI_Barrier", "MPI_Ibarrier", "MPI_Gather", "MPI_Comm_rank",
                                   "MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_free"}) {
        lines.push_back(failed(function, MPI_ERR_COMM));
      }
      return with_errors(lines);
    });

/// 40 bytes to the next rank for each tag; the receivers have space for 16. Of a message to oneself
/// Open MPI does not always see that it is truncated. MPICH tells of a truncated message what it is
/// not, so that the space is recorded.
const int kTruncatedBytes = faults::is_mpich() ? 16 : 40;
void send_long(const Who& me, int first_tag, int last_tag) {
  std::array<int, 10> out{};
  for (int tag = first_tag; tag <= last_tag; ++tag) {
    MPI_Request request;
    MPI_Isend(out.data(), 10, MPI_INT, me.next(), tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

const Scenario kTruncated(
    "MpiRecv.ThatIsTruncatedHasReceived",
    [](const Who& me) {
      const ErrorsReturn returning;
      std::array<int, 10> out{};
      std::array<int, 4> in{};
      send_long(me, 1, 1);
      const int rc = MPI_Recv(in.data(), 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE);
      expect(error_class(rc) == MPI_ERR_TRUNCATE, "the message is too long");
      MPI_Request request;
      MPI_Irecv(in.data(), 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      send_long(me, 2, 2);
      expect(error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE,
             "this one too");
      MPI_Sendrecv(out.data(), 10, MPI_INT, me.next(), 3, in.data(), 4, MPI_INT, me.previous(), 3,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    },
    [](const Who& me) {
      const int from = me.previous();
      const int to = me.next();
      return with_errors(
          {text("MPI_Isend on world | isend r1 to %d tag 1 bytes 40", to), "MPI_Wait | sent r1",
           text("MPI_Recv on world | recv from %d tag 1 bytes %d; error %d", from, kTruncatedBytes,
                MPI_ERR_TRUNCATE),
           "MPI_Irecv on world | irecv r2 from any tag any space 16",
           text("MPI_Isend on world | isend r3 to %d tag 2 bytes 40", to), "MPI_Wait | sent r3",
           text("MPI_Wait | received r2 in world from %d tag 2 bytes %d; error %d", from,
                kTruncatedBytes, MPI_ERR_TRUNCATE),
           text("MPI_Sendrecv on world | send to %d tag 3 bytes 40; recv from %d tag 3 bytes %d; "
                "error %d",
                to, from, kTruncatedBytes, MPI_ERR_TRUNCATE)});
    },
    {2, 4});

/// Of three receives the second is truncated.
struct OneIsTruncated {
  explicit OneIsTruncated(const Who& me) {
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(in.data() + 10 * i, i == 1 ? 4 : 10, MPI_INT, me.previous(), i + 1, MPI_COMM_WORLD,
                &requests[at(i)]);
    }
    send_long(me, 1, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    // Behind the others on the same way: what it has seen arrive, is there.
    MPI_Sendrecv(nullptr, 0, MPI_INT, me.next(), 4, nullptr, 0, MPI_INT, me.previous(), 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::array<MPI_Request, 3> requests{};
  std::array<int, 30> in{};
};
Lines truncated_lines(const Who& me, const Lines& then) {
  Lines lines;
  for (int i = 1; i <= 3; ++i) {
    lines.push_back(text("MPI_Irecv on world | irecv r%d from %d tag %d space %d", i, me.previous(),
                         i, i == 2 ? 16 : 40));
  }
  for (int i = 1; i <= 3; ++i) {
    lines.push_back(
        text("MPI_Isend on world | isend r%d to %d tag %d bytes 40", 3 + i, me.next(), i));
    lines.push_back(text("MPI_Wait | sent r%d", 3 + i));
  }
  lines.emplace_back("MPI_Barrier on world | coll #0 sent 0 received 0");
  lines.push_back(
      text("MPI_Sendrecv on world | send to %d tag 4 bytes 0; recv from %d tag 4 bytes 0",
           me.next(), me.previous()));
  lines.insert(lines.end(), then.begin(), then.end());
  return with_errors(lines);
}
std::string received(const Who& me, int i) {
  return text("received r%d in world from %d tag %d bytes %d", i, me.previous(), i,
              i == 2 ? kTruncatedBytes : 40);
}
/// MPICH looks no further than the first that fails: the third is pending.
Lines waitall_lines(const Who& me) {
  const std::string third = faults::is_mpich() ? "" : "; " + received(me, 3);
  return truncated_lines(me, {"MPI_Waitall | " + received(me, 1) + "; " + received(me, 2) + third +
                              text("; error %d", MPI_ERR_IN_STATUS)});
}

const Scenario kWaitall("MpiWaitall.TellsOfEachOfItsRequestsWhenOneFails",
                        [](const Who& me) {
                          const ErrorsReturn returning;
                          OneIsTruncated some(me);
                          std::array<MPI_Status, 3> statuses{};
                          expect(error_class(MPI_Waitall(3, some.requests.data(),
                                                         statuses.data())) == MPI_ERR_IN_STATUS,
                                 "one has failed");
                          expect(statuses[0].MPI_ERROR == MPI_SUCCESS &&
                                     error_class(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE &&
                                     error_class(statuses[2].MPI_ERROR) ==
                                         (faults::is_mpich() ? MPI_ERR_PENDING : MPI_SUCCESS),
                                 "the second");
                        },
                        waitall_lines, {2, 4});

const Scenario kWaitallIgnoring("MpiWaitall.TellsOfEachOfItsRequestsWhenStatusesAreIgnored",
                                [](const Who& me) {
                                  const ErrorsReturn returning;
                                  OneIsTruncated some(me);
                                  expect(error_class(MPI_Waitall(3, some.requests.data(),
                                                                 MPI_STATUSES_IGNORE)) ==
                                             MPI_ERR_IN_STATUS,
                                         "one has failed");
                                },
                                waitall_lines, {2, 4});

const Scenario kWaitsome(
    "MpiWaitsome.TellsWhichOfItsRequestsFailed",
    [](const Who& me) {
      const ErrorsReturn returning;
      OneIsTruncated some(me);
      int count = 0;
      std::array<int, 3> indices{};
      expect(error_class(MPI_Testsome(3, some.requests.data(), &count, indices.data(),
                                      MPI_STATUSES_IGNORE)) == MPI_ERR_IN_STATUS,
             "one has failed");
      expect(count == 3, "all are complete");
    },
    [](const Who& me) {
      return truncated_lines(me, {"MPI_Testsome | " + received(me, 1) + "; " + received(me, 2) +
                                  "; " + received(me, 3) + text("; error %d", MPI_ERR_IN_STATUS)});
    },
    {2, 4});

const Scenario kWaitany(
    "MpiWaitany.ReturnsTheErrorOfTheOneItNames",
    [](const Who& me) {
      const ErrorsReturn returning;
      OneIsTruncated some(me);
      int index = -1;
      int flag = 0;
      MPI_Waitany(3, some.requests.data(), &index, MPI_STATUS_IGNORE);
      expect(error_class(MPI_Waitany(3, some.requests.data(), &index, MPI_STATUS_IGNORE)) ==
                     MPI_ERR_TRUNCATE &&
                 index == 1,
             "the second");
      MPI_Test(&some.requests[2], &flag, MPI_STATUS_IGNORE);
      expect(flag == 1, "the third");
    },
    [](const Who& me) {
      return truncated_lines(
          me, {"MPI_Waitany | " + received(me, 1),
               "MPI_Waitany | " + received(me, 2) + text("; error %d", MPI_ERR_TRUNCATE),
               "MPI_Test | " + received(me, 3)});
    },
    {2, 4});

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
