#include "tests/mpi/scenario.h"

#include <array>

/// Blocking and nonblocking sends in all modes, receives, both at once, probes.
namespace megascope::mpitest {
namespace {

constexpr int kTag = 42;

/// A receive from the previous rank, posted before the send to the next one, so that every mode may
/// start.
template <class Send>
void around(const Who& me, Send send) {
  std::array<double, 5> out{1, 2, 3, 4, 5};
  std::array<double, 8> in{};
  MPI_Request request;
  MPI_Irecv(in.data(), 8, MPI_DOUBLE, me.previous(), kTag, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  send(out.data());
  MPI_Status status;
  MPI_Wait(&request, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  expect(count == 5 && in[4] == 5 && in[5] == 0, "five numbers arrive");
  expect(status.MPI_SOURCE == me.previous() && status.MPI_TAG == kTag,
         "the status names the sender");
}

Lines around_lines(const Who& me, const Lines& send) {
  Lines lines = {text("MPI_Irecv on world | irecv r1 from %d tag 42 space 64", me.previous()),
                 "MPI_Barrier on world | coll #0 sent 0 received 0"};
  lines.insert(lines.end(), send.begin(), send.end());
  lines.push_back(text("MPI_Wait | received r1 in world from %d tag 42 bytes 40", me.previous()));
  lines.emplace_back("MPI_Get_count");
  return lines;
}

const Scenario kSend(
    "MpiSend.RecordsPeerTagAndBytes",
    [](const Who& me) {
      around(me,
             [&](double* out) { MPI_Send(out, 5, MPI_DOUBLE, me.next(), kTag, MPI_COMM_WORLD); });
    },
    [](const Who& me) {
      return around_lines(me, {text("MPI_Send on world | send to %d tag 42 bytes 40", me.next())});
    });

const Scenario kSsend(
    "MpiSsend.RecordsPeerTagAndBytes",
    [](const Who& me) {
      around(me,
             [&](double* out) { MPI_Ssend(out, 5, MPI_DOUBLE, me.next(), kTag, MPI_COMM_WORLD); });
    },
    [](const Who& me) {
      return around_lines(me, {text("MPI_Ssend on world | send to %d tag 42 bytes 40", me.next())});
    });

const Scenario kRsend(
    "MpiRsend.RecordsPeerTagAndBytes",
    [](const Who& me) {
      around(me,
             [&](double* out) { MPI_Rsend(out, 5, MPI_DOUBLE, me.next(), kTag, MPI_COMM_WORLD); });
    },
    [](const Who& me) {
      return around_lines(me, {text("MPI_Rsend on world | send to %d tag 42 bytes 40", me.next())});
    });

const Scenario kBsend(
    "MpiBsend.RecordsPeerTagAndBytes",
    [](const Who& me) {
      around(me, [&](double* out) {
        static std::array<char, 4096> space;
        MPI_Buffer_attach(space.data(), 4096);
        MPI_Bsend(out, 5, MPI_DOUBLE, me.next(), kTag, MPI_COMM_WORLD);
        void* back = nullptr;
        int size = 0;
        MPI_Buffer_detach(&back, &size);
        expect(back == space.data() && size == 4096, "the buffer comes back");
      });
    },
    [](const Who& me) {
      return around_lines(me, {"MPI_Buffer_attach | here bytes 4096",
                               text("MPI_Bsend on world | send to %d tag 42 bytes 40", me.next()),
                               "MPI_Buffer_detach | here bytes 4096"});
    });

using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void isend_around(const Who& me, Isend isend) {
  around(me, [&](double* out) {
    MPI_Request request;
    isend(out, 5, MPI_DOUBLE, me.next(), kTag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(request == MPI_REQUEST_NULL, "the request is spent");
  });
}
Lines isend_lines(const Who& me, const char* function) {
  return around_lines(me,
                      {text("%s on world | isend r2 to %d tag 42 bytes 40", function, me.next()),
                       "MPI_Wait | sent r2"});
}

const Scenario kIsend(
    "MpiIsend.RecordsStartAndCompletion", [](const Who& me) { isend_around(me, MPI_Isend); },
    [](const Who& me) { return isend_lines(me, "MPI_Isend"); });
const Scenario kIssend(
    "MpiIssend.RecordsStartAndCompletion", [](const Who& me) { isend_around(me, MPI_Issend); },
    [](const Who& me) { return isend_lines(me, "MPI_Issend"); });
const Scenario kIrsend(
    "MpiIrsend.RecordsStartAndCompletion", [](const Who& me) { isend_around(me, MPI_Irsend); },
    [](const Who& me) { return isend_lines(me, "MPI_Irsend"); });
const Scenario kIbsend(
    "MpiIbsend.RecordsStartAndCompletion",
    [](const Who& me) {
      static std::array<char, 4096> space;
      MPI_Buffer_attach(space.data(), 4096);
      isend_around(me, MPI_Ibsend);
      void* back = nullptr;
      int size = 0;
      MPI_Buffer_detach(&back, &size);
    },
    [](const Who& me) {
      Lines lines = isend_lines(me, "MPI_Ibsend");
      lines.insert(lines.begin(), "MPI_Buffer_attach | here bytes 4096");
      lines.emplace_back("MPI_Buffer_detach | here bytes 4096");
      return lines;
    });

const Scenario kRecv(
    "MpiRecv.RecordsWhatArrivedNotWhatWasPosted",
    [](const Who& me) {
      std::array<short, 3> out{7, 8, 9};
      std::array<char, 100> in{};
      MPI_Request request;
      MPI_Isend(out.data(), 3, MPI_SHORT, me.next(), 17, MPI_COMM_WORLD, &request);
      MPI_Recv(in.data(), 100, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(in[0] == 7 && in[2] == 8 && in[4] == 9, "the message arrives");
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Isend on world | isend r1 to %d tag 17 bytes 6", me.next()),
              text("MPI_Recv on world | recv from %d tag 17 bytes 6", me.previous()),
              "MPI_Wait | sent r1"};
    });

const Scenario kIrecv(
    "MpiIrecv.RecordsSpaceAsPostedAndThenWhatArrived",
    [](const Who& me) {
      char out = 'x';
      std::array<int, 25> in{};
      MPI_Request request;
      MPI_Irecv(in.data(), 25, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      MPI_Send(&out, 0, MPI_CHAR, me.next(), 0, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Irecv on world | irecv r1 from any tag any space 100",
              text("MPI_Send on world | send to %d tag 0 bytes 0", me.next()),
              text("MPI_Wait | received r1 in world from %d tag 0 bytes 0", me.previous())};
    });

const Scenario kDerived(
    "MpiSend.CountsTheBytesOfADerivedTypeWithoutItsGaps",
    [](const Who& me) {
      std::array<int, 12> out{};
      std::array<int, 12> in{};
      MPI_Datatype type;
      MPI_Type_vector(3, 1, 4, MPI_INT, &type);
      MPI_Type_commit(&type);
      MPI_Request request;
      MPI_Isend(out.data(), 1, type, me.next(), 1, MPI_COMM_WORLD, &request);
      MPI_Recv(in.data(), 12, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&type);  // its handle comes back as a type of another size
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Type_vector(2, 1, 4, MPI_INT, &type);
      MPI_Type_commit(&type);
      MPI_Sendrecv(out.data(), 1, type, me.next(), 2, in.data(), 1, type, me.previous(), 2,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&type);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Type_vector",
              "MPI_Type_commit",
              text("MPI_Isend on world | isend r1 to %d tag 1 bytes 12", me.next()),
              text("MPI_Recv on world | recv from %d tag 1 bytes 12", me.previous()),
              "MPI_Type_free",
              "MPI_Wait | sent r1",
              "MPI_Type_vector",
              "MPI_Type_commit",
              text("MPI_Sendrecv on world | send to %d tag 2 bytes 8; recv from %d tag 2 bytes 8",
                   me.next(), me.previous()),
              "MPI_Type_free"};
    });

const Scenario kSendrecv(
    "MpiSendrecv.RecordsBothMessages",
    [](const Who& me) {
      std::array<int, 3> out{1, 2, 3};
      std::array<int, 9> in{};
      MPI_Status status;
      MPI_Sendrecv(out.data(), 3, MPI_INT, me.next(), 5, in.data(), 9, MPI_INT, MPI_ANY_SOURCE,
                   MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == me.previous() && status.MPI_TAG == 5 && in[2] == 3,
             "the message arrives");
      MPI_Sendrecv_replace(out.data(), 2, MPI_INT, me.next(), 6, me.previous(), 6, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Sendrecv on world | send to %d tag 5 bytes 12; recv from %d tag 5 bytes 12",
                   me.next(), me.previous()),
              text("MPI_Sendrecv_replace on world | send to %d tag 6 bytes 8; recv from %d tag 6 "
                   "bytes 8",
                   me.next(), me.previous())};
    });

const Scenario kSendrecvHalves(
    "MpiSendrecv.RecordsOnlyTheHalfThatHasAPeer",
    [](const Who&
           me) {  // along a line: the first receives from MPI_PROC_NULL, the last sends to it
      const int up = me.rank + 1 < me.size ? me.rank + 1 : MPI_PROC_NULL;
      const int down = me.rank > 0 ? me.rank - 1 : MPI_PROC_NULL;
      int out = 1;
      int in = -1;
      MPI_Status status;
      MPI_Sendrecv(&out, 1, MPI_INT, up, 3, &in, 1, MPI_INT, down, 3, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == down && (down != MPI_PROC_NULL || in == -1),
             "nothing comes from MPI_PROC_NULL");
      MPI_Sendrecv_replace(&out, 1, MPI_INT, up, 4, down, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    },
    [](const Who& me) -> Lines {
      const bool has_up = me.rank + 1 < me.size;
      const bool has_down = me.rank > 0;
      Lines lines;
      for (const int tag : {3, 4}) {
        std::string line = tag == 3 ? "MPI_Sendrecv on world" : "MPI_Sendrecv_replace on world";
        if (has_up) line += text(" | send to %d tag %d bytes 4", me.rank + 1, tag);
        if (has_down)
          line += text("%s recv from %d tag %d bytes 4", has_up ? ";" : " |", me.rank - 1, tag);
        lines.push_back(line);
      }
      return lines;
    });

const Scenario kProcNull(
    "MpiProcNull.LeavesNoMessage",
    [](const Who&) {
      int value = 5;
      MPI_Status status;
      std::array<MPI_Request, 2> requests;
      MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
      expect(value == 5 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG,
             "a null receive");
      MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests.data());
      MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == MPI_PROC_NULL, "a null probe");
    },
    [](const Who&) -> Lines {
      return {"MPI_Send on world",  "MPI_Recv on world", "MPI_Isend on world",
              "MPI_Irecv on world", "MPI_Waitall",       "MPI_Probe on world"};
    });

const Scenario kProbe(
    "MpiProbe.IsACallOnItsCommunicatorAndTakesNothing",
    [](const Who& me) {
      int out = 1;
      int in = 0;
      int flag = -1;
      MPI_Status status;
      MPI_Iprobe(me.previous(), 8, MPI_COMM_WORLD, &flag, &status);
      expect(flag == 0, "nothing was sent yet");
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(&out, 1, MPI_INT, me.next(), 8, MPI_COMM_WORLD);
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == me.previous() && status.MPI_TAG == 8,
             "the probe sees the message");
      MPI_Iprobe(me.previous(), 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      expect(flag == 1, "it is still there");
      MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Iprobe on world",
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              text("MPI_Send on world | send to %d tag 8 bytes 4", me.next()),
              text("MPI_Probe on world | found from %d tag 8 bytes 4", me.previous()),
              text("MPI_Iprobe on world | found from %d tag 8 bytes 4", me.previous()),
              text("MPI_Recv on world | recv from %d tag 8 bytes 4", me.previous())};
    },
    on_ranks_of({1, 2, 4},
                {2, 4}));  // MPICH waits for the receive of what a process sends to itself

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
