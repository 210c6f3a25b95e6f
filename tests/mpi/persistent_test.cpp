#include "tests/mpi/scenario.h"

#include <array>

/// Persistent requests and matched probes.
namespace megascope::mpitest {
namespace {

using Init = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

/// A persistent receive and a send, started twice, one by one and together, then freed.
void persist(const Who& me, Init init) {
  std::array<int, 4> out{1, 2, 3, 4};
  std::array<int, 8> in{};
  std::array<MPI_Request, 2> requests;
  MPI_Recv_init(in.data(), 8, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, requests.data());
  init(out.data(), 4, MPI_INT, me.next(), 9, MPI_COMM_WORLD, &requests[1]);
  MPI_Status status;
  MPI_Wait(requests.data(), &status);  // inactive: returns at once
  expect(status.MPI_SOURCE == MPI_ANY_SOURCE && requests[0] != MPI_REQUEST_NULL,
         "an inactive request");
  MPI_Start(requests.data());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Start(&requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(requests.data(), &status);
  expect(status.MPI_SOURCE == me.previous() && in[3] == 4 && requests[0] != MPI_REQUEST_NULL,
         "the first round");
  MPI_Start(requests.data());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Startall(1, &requests[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);  // inactive again
  MPI_Request_free(requests.data());
  MPI_Request_free(&requests[1]);
}

Lines persist_lines(const Who& me, const char* init) {
  const int next = me.next();
  const int previous = me.previous();
  return {"MPI_Recv_init on world | init r1 peer any tag 9 bytes 32",
          text("%s on world | init r2 peer %d tag 9 bytes 16", init, next),
          "MPI_Wait",
          "MPI_Start on world | irecv r3 from any tag 9 space 32",
          "MPI_Barrier on world | coll #0 sent 0 received 0",
          text("MPI_Start on world | isend r4 to %d tag 9 bytes 16", next),
          "MPI_Wait | sent r4",
          text("MPI_Wait | received r3 in world from %d tag 9 bytes 16", previous),
          "MPI_Start on world | irecv r5 from any tag 9 space 32",
          "MPI_Barrier on world | coll #1 sent 0 received 0",
          text("MPI_Startall on world | isend r6 to %d tag 9 bytes 16", next),
          text("MPI_Waitall | received r5 in world from %d tag 9 bytes 16; sent r6", previous),
          "MPI_Waitall",
          "MPI_Request_free",
          "MPI_Request_free"};
}

const Scenario kSendInit(
    "MpiSendInit.EachStartIsAMessageOfItsOwn", [](const Who& me) { persist(me, MPI_Send_init); },
    [](const Who& me) { return persist_lines(me, "MPI_Send_init"); });
const Scenario kSsendInit(
    "MpiSsendInit.EachStartIsAMessageOfItsOwn", [](const Who& me) { persist(me, MPI_Ssend_init); },
    [](const Who& me) { return persist_lines(me, "MPI_Ssend_init"); });
const Scenario kRsendInit(
    "MpiRsendInit.EachStartIsAMessageOfItsOwn", [](const Who& me) { persist(me, MPI_Rsend_init); },
    [](const Who& me) { return persist_lines(me, "MPI_Rsend_init"); });
const Scenario kBsendInit(
    "MpiBsendInit.EachStartIsAMessageOfItsOwn",
    [](const Who& me) {
      static std::array<char, 4096> space;
      void* back = nullptr;
      int size = 0;
      MPI_Buffer_attach(space.data(), 4096);
      persist(me, MPI_Bsend_init);
      MPI_Buffer_detach(&back, &size);
    },
    [](const Who& me) {
      Lines lines = persist_lines(me, "MPI_Bsend_init");
      lines.insert(lines.begin(), "MPI_Buffer_attach | here bytes 4096");
      lines.emplace_back("MPI_Buffer_detach | here bytes 4096");
      return lines;
    });

const Scenario kNullPersistent(
    "MpiSendInit.ToProcNullLeavesNoMessage",
    [](const Who&) {
      int value = 1;
      std::array<MPI_Request, 2> requests;
      MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests.data());
      MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Startall(2, requests.data());
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      for (MPI_Request& request : requests) MPI_Request_free(&request);
    },
    [](const Who&) -> Lines {
      return {"MPI_Send_init on world", "MPI_Recv_init on world", "MPI_Startall", "MPI_Waitall",
              "MPI_Request_free",       "MPI_Request_free"};
    });

const Scenario kFreeActive(
    "MpiRequestFree.OfAStartedPersistentRequestEndsItsFollowing",
    [](const Who& me) {
      static int out = 1;
      int in = 0;
      MPI_Request request;
      MPI_Send_init(&out, 1, MPI_INT, me.next(), 4, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Request_free(&request);
      MPI_Recv(&in, 1, MPI_INT, me.previous(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Send_init on world | init r1 peer %d tag 4 bytes 4", me.next()),
              text("MPI_Start on world | isend r2 to %d tag 4 bytes 4", me.next()),
              "MPI_Request_free | freed r2",
              text("MPI_Recv on world | recv from %d tag 4 bytes 4", me.previous())};
    });

const Scenario kCancelPersistent(
    "MpiCancel.OfAPersistentReceiveLeavesItForAnotherStart",
    [](const Who& me) {
      int out = 1;
      int in = 0;
      MPI_Request request;
      MPI_Recv_init(&in, 1, MPI_INT, me.previous(), 4, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Start(&request);
      MPI_Send(&out, 1, MPI_INT, me.next(), 4, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(in == 1, "the second start receives");
      MPI_Request_free(&request);
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Recv_init on world | init r1 peer %d tag 4 bytes 4", me.previous()),
              text("MPI_Start on world | irecv r2 from %d tag 4 space 4", me.previous()),
              "MPI_Cancel | cancels r2",
              "MPI_Wait | cancelled r2",
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              text("MPI_Start on world | irecv r3 from %d tag 4 space 4", me.previous()),
              text("MPI_Send on world | send to %d tag 4 bytes 4", me.next()),
              text("MPI_Wait | received r3 in world from %d tag 4 bytes 4", me.previous()),
              "MPI_Request_free"};
    });

const Scenario kMprobe(
    "MpiMprobe.TakesTheMessageThatMrecvAndImrecvReceive",
    [](const Who& me) {
      std::array<int, 3> out{1, 2, 3};
      std::array<int, 9> in{};
      std::array<MPI_Request, 3> requests;
      MPI_Message message;
      MPI_Status status;
      int flag = 5;
      MPI_Improbe(me.previous(), 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
      expect(flag == 0, "nothing was sent yet");
      MPI_Barrier(MPI_COMM_WORLD);
      for (const int tag : {6, 7}) {
        MPI_Isend(out.data(), tag - 4, MPI_INT, me.next(), tag, MPI_COMM_WORLD,
                  &requests[at(tag - 6)]);
      }
      MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, &status);
      expect(status.MPI_SOURCE == me.previous() && status.MPI_TAG == 7, "the second one");
      MPI_Mrecv(in.data(), 9, MPI_INT, &message, &status);
      expect(message == MPI_MESSAGE_NULL && status.MPI_TAG == 7 && in[2] == 3, "its message");
      MPI_Improbe(me.previous(), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
      expect(flag == 1, "the first one is there as well");
      MPI_Imrecv(in.data(), 9, MPI_INT, &message, &requests[2]);
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) -> Lines {
      const int from = me.previous();
      return {
          "MPI_Improbe on world",
          "MPI_Barrier on world | coll #0 sent 0 received 0",
          text("MPI_Isend on world | isend r1 to %d tag 6 bytes 8", me.next()),
          text("MPI_Isend on world | isend r2 to %d tag 7 bytes 12", me.next()),
          text("MPI_Mprobe on world | matched r3 from %d tag 7 bytes 12", from),
          text("MPI_Mrecv on world | recv r3 from %d tag 7 bytes 12", from),
          text("MPI_Improbe on world | matched r4 from %d tag 6 bytes 8", from),
          text("MPI_Imrecv on world | irecv r4 from %d tag 6 space 36", from),
          text("MPI_Waitall | sent r1; sent r2; received r4 in world from %d tag 6 bytes 8", from)};
    });

const Scenario kMprobeNull(
    "MpiMprobe.OfProcNullLeavesNoMessage",
    [](const Who&) {
      int in = 3;
      int flag = 0;
      MPI_Message message;
      MPI_Request request;
      MPI_Status status;
      MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      expect(message == MPI_MESSAGE_NO_PROC, "no process");
      MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
      expect(status.MPI_SOURCE == MPI_PROC_NULL && in == 3, "nothing comes from MPI_PROC_NULL");
      MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(&in, 1, MPI_INT, &message, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    [](const Who&) -> Lines {
      return {"MPI_Mprobe on world", "MPI_Mrecv", "MPI_Improbe on world", "MPI_Imrecv", "MPI_Wait"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
