#include "tests/mpi/scenario.h"

#include <array>
#include <vector>

/// Completion of requests: all Wait and Test families, null and inactive requests, cancel, free,
/// many at once.
namespace megascope::mpitest {
namespace {

/// Two receives from the previous rank, tags 1 and 2; then two sends of 4 and 8 bytes to the next.
/// Complete on return.
struct Exchange {
  explicit Exchange(const Who& me) {
    for (const int tag : {1, 2}) {
      MPI_Irecv(in.data() + tag * 10, 10, MPI_INT, me.previous(), tag, MPI_COMM_WORLD,
                &requests[at(tag - 1)]);
    }
    for (const int tag : {1, 2}) {
      MPI_Isend(out.data(), tag, MPI_INT, me.next(), tag, MPI_COMM_WORLD, &requests[at(tag + 1)]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Behind the others on the same way: what it has seen arrive, is there.
    MPI_Sendrecv(out.data(), 0, MPI_INT, me.next(), 3, in.data(), 0, MPI_INT, me.previous(), 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::array<MPI_Request, 4> requests{};
  std::array<int, 2> out{};
  std::array<int, 40> in{};
};

Lines exchange_lines(const Who& me, const Lines& then) {
  Lines lines = {
      text("MPI_Irecv on world | irecv r1 from %d tag 1 space 40", me.previous()),
      text("MPI_Irecv on world | irecv r2 from %d tag 2 space 40", me.previous()),
      text("MPI_Isend on world | isend r3 to %d tag 1 bytes 4", me.next()),
      text("MPI_Isend on world | isend r4 to %d tag 2 bytes 8", me.next()),
      "MPI_Barrier on world | coll #0 sent 0 received 0",
      text("MPI_Sendrecv on world | send to %d tag 3 bytes 0; recv from %d tag 3 bytes 0",
           me.next(), me.previous())};
  lines.insert(lines.end(), then.begin(), then.end());
  return lines;
}

std::string received(const Who& me, int request) {
  return text("received r%d in world from %d tag %d bytes %d", request, me.previous(), request,
              4 * request);
}

const Scenario kWait(
    "MpiWait.CompletesEachRequestOnce",
    [](const Who& me) {
      Exchange exchange(me);
      MPI_Status status;
      for (const int i : {2, 0, 3, 1})
        MPI_Wait(&exchange.requests[at(i)], i == 0 ? &status : MPI_STATUS_IGNORE);
      expect(status.MPI_SOURCE == me.previous() && status.MPI_TAG == 1,
             "the status of the first receive");
      MPI_Request null = MPI_REQUEST_NULL;
      MPI_Wait(&null, &status);
      expect(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
             "the empty status");
      MPI_Wait(&exchange.requests[0], MPI_STATUS_IGNORE);
    },
    [](const Who& me) {
      return exchange_lines(
          me, {"MPI_Wait | sent r3", "MPI_Wait | " + received(me, 1), "MPI_Wait | sent r4",
               "MPI_Wait | " + received(me, 2), "MPI_Wait", "MPI_Wait"});
    });

const Scenario kWaitall(
    "MpiWaitall.CompletesAllInOrderAndSkipsNull",
    [](const Who& me) {
      Exchange exchange(me);
      std::array<MPI_Request, 6> all = {MPI_REQUEST_NULL,     exchange.requests[0],
                                        exchange.requests[1], exchange.requests[2],
                                        exchange.requests[3], MPI_REQUEST_NULL};
      std::array<MPI_Status, 6> statuses{};
      MPI_Waitall(6, all.data(), statuses.data());
      expect(statuses[1].MPI_TAG == 1 && statuses[2].MPI_TAG == 2,
             "statuses lie at their requests");
      MPI_Waitall(6, all.data(), MPI_STATUSES_IGNORE);
      MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      return exchange_lines(
          me, {"MPI_Waitall | " + received(me, 1) + "; " + received(me, 2) + "; sent r3; sent r4",
               "MPI_Waitall", "MPI_Waitall"});
    });

const Scenario kWaitany(
    "MpiWaitany.CompletesTheOneItNames",
    [](const Who& me) {
      Exchange exchange(me);
      int index = -7;
      MPI_Status status;
      MPI_Waitany(2, exchange.requests.data(), &index, &status);
      expect(index == 0 && status.MPI_TAG == 1, "the first");
      MPI_Waitany(2, exchange.requests.data(), &index, MPI_STATUS_IGNORE);
      expect(index == 1, "the second");
      MPI_Waitany(2, exchange.requests.data(), &index, MPI_STATUS_IGNORE);
      expect(index == MPI_UNDEFINED, "none is left");
      MPI_Waitall(4, exchange.requests.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      return exchange_lines(me,
                            {"MPI_Waitany | " + received(me, 1), "MPI_Waitany | " + received(me, 2),
                             "MPI_Waitany", "MPI_Waitall | sent r3; sent r4"});
    });

const Scenario kWaitsome(
    "MpiWaitsome.CompletesThoseItNames",
    [](const Who& me) {
      Exchange exchange(me);
      int count = -7;
      std::array<int, 4> indices{};
      std::array<MPI_Request, 3> some = {exchange.requests[1], MPI_REQUEST_NULL,
                                         exchange.requests[0]};
      MPI_Waitsome(3, some.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      expect(count == 2 && indices[0] == 0 && indices[1] == 2, "both receives");
      std::array<MPI_Status, 2> statuses{};
      MPI_Testsome(2, &exchange.requests[2], &count, indices.data(), statuses.data());
      expect(count == 2, "both sends");
      MPI_Waitsome(3, some.data(), &count, indices.data(), statuses.data());
      expect(count == MPI_UNDEFINED, "none is left");
      MPI_Testsome(3, some.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      return exchange_lines(me,
                            {"MPI_Waitsome | " + received(me, 2) + "; " + received(me, 1),
                             "MPI_Testsome | sent r3; sent r4", "MPI_Waitsome", "MPI_Testsome"});
    });

const Scenario kTests(
    "MpiTest.TellsWhatIsNotYetCompleteAndWhatIs",
    [](const Who& me) {
      int out = 1;
      std::array<int, 2> in{};
      std::array<MPI_Request, 2> requests;
      int flag = 7;
      int index = 7;
      int count = 7;
      std::array<int, 2> indices{};
      MPI_Irecv(in.data(), 1, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, requests.data());
      MPI_Irecv(&in[1], 1, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Test(requests.data(), &flag, MPI_STATUS_IGNORE);
      expect(flag == 0 && requests[0] != MPI_REQUEST_NULL, "nothing was sent");
      MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
      expect(flag == 0, "nothing was sent");
      MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      expect(flag == 0 && index == MPI_UNDEFINED, "nothing was sent");
      MPI_Testsome(2, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      expect(count == 0, "nothing was sent");
      MPI_Barrier(MPI_COMM_WORLD);
      for (const int tag : {1, 2, 3}) MPI_Send(&out, 1, MPI_INT, me.next(), tag, MPI_COMM_WORLD);
      MPI_Recv(&out, 1, MPI_INT, me.previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Status status;
      MPI_Request_get_status(requests[0], &flag, &status);
      expect(flag == 1 && status.MPI_TAG == 1, "it is there, and stays");
      MPI_Test(requests.data(), &flag, &status);
      expect(flag == 1 && status.MPI_TAG == 1 && requests[0] == MPI_REQUEST_NULL, "the first");
      MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      expect(flag == 1 && index == 1, "the second");
      MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
      expect(flag == 1, "null requests are complete");
      MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      expect(flag == 1 && index == MPI_UNDEFINED, "none is left");
      MPI_Test(requests.data(), &flag, MPI_STATUS_IGNORE);
      expect(flag == 1, "a null request is complete");
    },
    [](const Who& me) -> Lines {
      return {
          text("MPI_Irecv on world | irecv r1 from %d tag 1 space 4", me.previous()),
          text("MPI_Irecv on world | irecv r2 from %d tag 2 space 4", me.previous()),
          "MPI_Test | tested r1",
          "MPI_Testall",
          "MPI_Testany",
          "MPI_Testsome",
          "MPI_Barrier on world | coll #0 sent 0 received 0",
          text("MPI_Send on world | send to %d tag 1 bytes 4", me.next()),
          text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()),
          text("MPI_Send on world | send to %d tag 3 bytes 4", me.next()),
          text("MPI_Recv on world | recv from %d tag 3 bytes 4", me.previous()),
          text("MPI_Request_get_status | ready r1 in world from %d tag 1 bytes 4", me.previous()),
          text("MPI_Test | received r1 in world from %d tag 1 bytes 4", me.previous()),
          text("MPI_Testany | received r2 in world from %d tag 2 bytes 4", me.previous()),
          "MPI_Testall",
          "MPI_Testany",
          "MPI_Test"};
    },
    on_ranks_of({1, 2, 4},
                {2, 4}));  // MPICH waits for the receive of what a process sends to itself

const Scenario kTestall(
    "MpiTestall.CompletesAllOrNothing",
    [](const Who& me) {
      Exchange exchange(me);
      int flag = 0;
      MPI_Testall(4, exchange.requests.data(), &flag, MPI_STATUSES_IGNORE);
      expect(flag == 1, "all is there");
    },
    [](const Who& me) {
      return exchange_lines(
          me, {"MPI_Testall | " + received(me, 1) + "; " + received(me, 2) + "; sent r3; sent r4"});
    });

const Scenario kCancel(
    "MpiCancel.LeavesNoMessageWhenItSucceeds",
    [](const Who& me) {
      int out = 5;
      std::array<int, 2> in{};
      std::array<MPI_Request, 2> requests;
      MPI_Irecv(in.data(), 1, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, requests.data());
      MPI_Cancel(requests.data());
      MPI_Status status;
      MPI_Wait(requests.data(), &status);
      int flag = 0;
      MPI_Test_cancelled(&status, &flag);
      expect(flag == 1, "it was cancelled");
      // Cancelled twice over, seen by a call that ignores the status.
      MPI_Irecv(in.data(), 1, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, requests.data());
      MPI_Cancel(requests.data());
      MPI_Waitall(1, requests.data(), MPI_STATUSES_IGNORE);
      // Too late.
      MPI_Irecv(in.data(), 1, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(&out, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD);
      MPI_Send(&out, 1, MPI_INT, me.next(), 3, MPI_COMM_WORLD);
      MPI_Recv(&out, 1, MPI_INT, me.previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Cancel(&requests[1]);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      expect(in[1] == 0 && in[0] == 5, "the message had arrived");
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Irecv on world | irecv r1 from %d tag 1 space 4", me.previous()),
              "MPI_Cancel | cancels r1",
              "MPI_Wait | cancelled r1",
              "MPI_Test_cancelled {flag 1}",
              text("MPI_Irecv on world | irecv r2 from %d tag 1 space 4", me.previous()),
              "MPI_Cancel | cancels r2",
              "MPI_Waitall | cancelled r2",
              text("MPI_Irecv on world | irecv r3 from %d tag 2 space 4", me.previous()),
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()),
              text("MPI_Send on world | send to %d tag 3 bytes 4", me.next()),
              text("MPI_Recv on world | recv from %d tag 3 bytes 4", me.previous()),
              "MPI_Cancel | cancels r3",
              text("MPI_Wait | received r3 in world from %d tag 2 bytes 4", me.previous())};
    },
    on_ranks_of({1, 2, 4},
                {2, 4}));  // MPICH waits for the receive of what a process sends to itself

const Scenario kFree(
    "MpiRequestFree.EndsTheFollowingOfAnActiveRequest",
    [](const Who& me) {
      int out = 5;
      int in = 0;
      MPI_Request request;
      MPI_Isend(&out, 1, MPI_INT, me.next(), 1, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
      expect(request == MPI_REQUEST_NULL, "the handle is gone");
      MPI_Recv(&in, 1, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Irecv(&in, 1, MPI_INT, me.previous(), 2, MPI_COMM_WORLD,
                &request);  // the handle may be the freed one's
      MPI_Send(&out, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Isend on world | isend r1 to %d tag 1 bytes 4", me.next()),
              "MPI_Request_free | freed r1",
              text("MPI_Recv on world | recv from %d tag 1 bytes 4", me.previous()),
              text("MPI_Irecv on world | irecv r2 from %d tag 2 space 4", me.previous()),
              text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()),
              text("MPI_Wait | received r2 in world from %d tag 2 bytes 4", me.previous())};
    });

constexpr int kMany = 3000;

const Scenario kThousands(
    "MpiWaitall.FollowsThousandsOfOpenRequests",
    [](const Who& me) {
      std::vector<int> in(kMany);
      std::vector<MPI_Request> requests(2 * kMany);
      const auto request = [&](int i) { return requests.data() + i; };
      for (int i = 0; i < kMany; ++i)
        MPI_Irecv(&in[at(i)], 1, MPI_INT, me.previous(), i, MPI_COMM_WORLD, request(i));
      for (int i = 0; i < kMany; ++i)
        MPI_Isend(&i, 0, MPI_INT, me.next(), i, MPI_COMM_WORLD, request(kMany + i));
      MPI_Waitall(2 * kMany, requests.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) {
      Lines lines;
      std::string all = "MPI_Waitall";
      for (int i = 0; i < kMany; ++i) {
        lines.push_back(
            text("MPI_Irecv on world | irecv r%d from %d tag %d space 4", i + 1, me.previous(), i));
        all += text("%s received r%d in world from %d tag %d bytes 0", i == 0 ? " |" : ";", i + 1,
                    me.previous(), i);
      }
      for (int i = 0; i < kMany; ++i) {
        lines.push_back(text("MPI_Isend on world | isend r%d to %d tag %d bytes 0", kMany + i + 1,
                             me.next(), i));
        all += text("; sent r%d", kMany + i + 1);
      }
      lines.push_back(all);
      return lines;
    });

const Scenario kGeneralized(
    "MpiGrequestStart.IsNoRequestOfAMessage",
    [](const Who&) {
      MPI_Request request;
      const auto query = [](void*, MPI_Status* status) {
        MPI_Status_set_cancelled(status, 0);
        return MPI_SUCCESS;
      };
      const auto release = [](void*) { return MPI_SUCCESS; };
      const auto cancel = [](void*, int) { return MPI_SUCCESS; };
      MPI_Grequest_start(query, release, cancel, nullptr, &request);
      MPI_Grequest_complete(request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    [](const Who&) -> Lines {
      return {"MPI_Grequest_start", "MPI_Grequest_complete", "MPI_Wait",
              "MPI_Status_set_cancelled depth 1"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
