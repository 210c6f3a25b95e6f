#include "tests/mpi/scenario.h"
#include "tests/mpi/threads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

/// Several threads in MPI at the same time: each has a location of its own, and its calls are told
/// as if it were alone.
namespace megascope::mpitest {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 60;

const Scenario kExchange(
    "MpiThreads.HaveALocationEach",
    [](const Who& me) {
      in_threads(kThreads, [&](int t) {
        for (int round = 0; round < kRounds; ++round) {
          const int tag = 100 * t + round;
          std::array<int, 8> out{};
          std::array<int, 8> in{};
          std::array<MPI_Request, 2> requests;
          MPI_Irecv(in.data(), 8, MPI_INT, me.previous(), tag, MPI_COMM_WORLD, requests.data());
          MPI_Isend(out.data(), t + 1, MPI_INT, me.next(), tag, MPI_COMM_WORLD, &requests[1]);
          MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
          MPI_Sendrecv(out.data(), t, MPI_INT, me.next(), tag, in.data(), 8, MPI_INT, me.previous(),
                       tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
      });
    },
    [](const Who&) -> Lines { return {}; }, {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Who me{rank, run.rank_count()};
        EXPECT_EQ(run.process(rank).info.thread_level, 3);
        ASSERT_EQ(run.location_count(rank), std::size_t{kThreads + 1});
        for (int t = 0; t < kThreads; ++t) {
          Lines lines = {kFirstOfThread};
          for (int round = 0; round < kRounds; ++round) {
            const int tag = 100 * t + round;
            const int request = 2 * (kRounds * t + round) + 1;
            lines.push_back(text("MPI_Irecv on world | irecv r%d from %d tag %d space 32", request,
                                 me.previous(), tag));
            lines.push_back(text("MPI_Isend on world | isend r%d to %d tag %d bytes %d",
                                 request + 1, me.next(), tag, 4 * (t + 1)));
            lines.push_back(
                text("MPI_Waitall | received r%d in world from %d tag %d bytes %d; sent r%d",
                     request, me.previous(), tag, 4 * (t + 1), request + 1));
            lines.push_back(text(
                "MPI_Sendrecv on world | send to %d tag %d bytes %d; recv from %d tag %d bytes %d",
                me.next(), tag, 4 * t, me.previous(), tag, 4 * t));
          }
          EXPECT_EQ(run.lines(rank, at(t + 1)), lines) << "thread " << t << " of rank " << rank;
        }
      }
    });

/// A thread's last call is a test that found something after many that did not: it has returned,
/// like any other.
const Scenario kLastTest(
    "MpiThreads.MayEndWithATestThatFindsSomething",
    [](const Who&) {
      int tests = 0;
      std::atomic<bool> is_testing{false};
      std::thread thread([&] {
        int in = 0;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &request);
        for (int flag = 0; flag == 0; ++tests) {
          MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
          is_testing = tests > 100;
        }
      });
      while (!is_testing) std::this_thread::yield();
      MPI_Send(&tests, 0, MPI_INT, 0, 4, MPI_COMM_SELF);
      thread.join();
      MPI_Sendrecv(&tests, 0, MPI_INT, 0, tests, &tests, 0, MPI_INT, 0, tests, MPI_COMM_SELF,
                   MPI_STATUS_IGNORE);
    },
    nullptr, {1, 2},
    [](const Recorded& run) {
      long recorded = -1;
      for (const std::string& line : run.lines(0, 0)) {
        if (line.starts_with("MPI_Sendrecv"))
          recorded = std::strtol(line.c_str() + line.find(" tag ") + 5, nullptr, 10);
      }
      long tests = 0;
      for (const std::string& line : run.lines(0, 1)) {
        long times = 1;
        std::sscanf(line.c_str(), "MPI_Test times %ld", &times);
        if (line.starts_with("MPI_Test")) tests += times;
      }
      EXPECT_GT(recorded, 100);
      EXPECT_EQ(tests, recorded);
    });

/// Made by the main thread and completed by others, and the other way round.
const Scenario kOtherThread(
    "MpiThreads.CompleteRequestsOfOtherThreads",
    [](const Who& me) {
      std::array<int, 8> in{};
      std::array<int, 4> out{};
      std::array<MPI_Request, 4> requests;
      MPI_Request barrier;
      for (int i = 0; i < 2; ++i) {
        MPI_Irecv(&in[at(4 * i)], 4, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[at(i)]);
      }
      for (int i = 0; i < 2; ++i)
        MPI_Issend(out.data(), i + 1, MPI_INT, me.next(), i, MPI_COMM_WORLD, &requests[at(i + 2)]);
      MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
      in_threads(2, [&](int t) {
        MPI_Wait(&requests[at(t)], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[at(t + 2)], MPI_STATUS_IGNORE);
        if (t == 0) MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        MPI_Irecv(in.data() + t, 1, MPI_INT, me.previous(), 10 + t, MPI_COMM_WORLD,
                  &requests[at(t)]);
        MPI_Issend(out.data(), 1, MPI_INT, me.next(), 10 + t, MPI_COMM_WORLD, &requests[at(t + 2)]);
      });
      MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    },
    [](const Who& me) -> Lines {
      const int from = me.previous();
      const int to = me.next();
      // Requests are numbered as they are met, the main thread's lines first: the threads' are 6
      // to 9.
      return {"MPI_Irecv on world | irecv r1 from any tag 0 space 16",
              "MPI_Irecv on world | irecv r2 from any tag 1 space 16",
              text("MPI_Issend on world | isend r3 to %d tag 0 bytes 4", to),
              text("MPI_Issend on world | isend r4 to %d tag 1 bytes 8", to),
              "MPI_Ibarrier on world | icoll r5 #0 sent 0 received 0",
              text("MPI_Waitall | received r6 in world from %d tag 10 bytes 4; received r7 in "
                   "world from %d tag 11 bytes 4; sent r8; sent r9",
                   from, from)};
    },
    on_ranks_of({1, 2, 4},
                {2, 4}),  // MPICH has one handle for all that a process has sent to itself
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Who me{rank, run.rank_count()};
        for (int t = 0; t < 2; ++t) {
          Lines lines = {kFirstOfThread,
                         text("MPI_Wait | received r%d in world from %d tag %d bytes %d", t + 1,
                              me.previous(), t, 4 * (t + 1)),
                         text("MPI_Wait | sent r%d", t + 3)};
          if (t == 0) lines.emplace_back("MPI_Wait | done r5 in world #0 sent 0 received 0");
          lines.push_back(text("MPI_Irecv on world | irecv r%d from %d tag %d space 4", 6 + t,
                               me.previous(), 10 + t));
          lines.push_back(text("MPI_Issend on world | isend r%d to %d tag %d bytes 4", 8 + t,
                               me.next(), 10 + t));
          EXPECT_EQ(run.lines(rank, at(t + 1)), lines) << "thread " << t << " of rank " << rank;
        }
      }
    });

/// Handles of communicators come back in other threads as soon as they are freed.
const Scenario kComms(
    "MpiThreads.MakeAndFreeCommunicators",
    [](const Who&) {
      std::array<MPI_Comm, 2> bases;
      for (int t = 0; t < 2; ++t) {
        MPI_Comm_dup(MPI_COMM_WORLD, &bases[at(t)]);
        MPI_Comm_set_name(bases[at(t)], text("base %d", t).c_str());
      }
      in_threads(2, [&](int t) {
        for (int round = 0; round < kRounds; ++round) {
          MPI_Comm comm;
          MPI_Comm_dup(bases[at(t)], &comm);
          MPI_Comm_set_name(comm, text("round %d of %d", round, t).c_str());
          MPI_Barrier(comm);
          MPI_Comm_free(&comm);
        }
      });
      for (int t = 0; t < 2; ++t) MPI_Comm_free(&bases[at(t)]);
    },
    [](const Who&) -> Lines {
      return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created base 0",
              "MPI_Comm_set_name on base 0",
              "MPI_Comm_dup on world | coll #1 sent 0 received 0; created base 1",
              "MPI_Comm_set_name on base 1",
              "MPI_Comm_free on base 0 | ended base 0",
              "MPI_Comm_free on base 1 | ended base 1"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        for (int t = 0; t < 2; ++t) {
          Lines lines = {kFirstOfThread};
          for (int round = 0; round < kRounds; ++round) {
            const std::string name = text("round %d of %d", round, t);
            lines.push_back(text("MPI_Comm_dup on base %d | coll #%d sent 0 received 0; created %s",
                                 t, round, name.c_str()));
            lines.push_back("MPI_Comm_set_name on " + name);
            lines.push_back("MPI_Barrier on " + name + " | coll #0 sent 0 received 0");
            lines.push_back("MPI_Comm_free on " + name + " | ended " + name);
          }
          EXPECT_EQ(run.lines(rank, at(t + 1)), lines) << "thread " << t << " of rank " << rank;
        }
      }
    });

/// One thread makes, the other frees: a handle may be another communicator's before the call that
/// freed it has returned.
constexpr int kHandedOver = 1500;
const Scenario kFreedByAnother(
    "MpiThreads.FreeCommunicatorsThatOthersMade",
    [](const Who&) {
      std::vector<std::atomic<MPI_Comm>> made(kHandedOver);
      for (auto& comm : made) comm = MPI_COMM_NULL;
      in_threads(2, [&](int t) {
        for (int i = 0; i < kHandedOver; ++i) {
          MPI_Comm comm = MPI_COMM_NULL;
          if (t == 0) {
            MPI_Comm_dup(MPI_COMM_SELF, &comm);
            MPI_Comm_set_name(comm, text("handed over %d", i).c_str());
            MPI_Barrier(comm);
            made[at(i)] = comm;
          } else {
            while ((comm = made[at(i)]) == MPI_COMM_NULL) std::this_thread::yield();
            MPI_Comm_free(&comm);
          }
        }
      });
    },
    [](const Who&) -> Lines { return {}; }, {1},
    [](const Recorded& run) {
      Lines maker = {kFirstOfThread};
      Lines freer = {kFirstOfThread};
      for (int i = 0; i < kHandedOver; ++i) {
        const std::string name = text("handed over %d", i);
        maker.push_back(
            text("MPI_Comm_dup on self | coll #%d sent 0 received 0; created %s", i, name.c_str()));
        maker.push_back("MPI_Comm_set_name on " + name);
        maker.push_back("MPI_Barrier on " + name + " | coll #0 sent 0 received 0");
        freer.push_back("MPI_Comm_free on " + name + " | ended " + name);
      }
      EXPECT_TRUE(run.lines(0, 1) == maker);
      EXPECT_TRUE(run.lines(0, 2) == freer);
      EXPECT_EQ(run.process(0).comms.size(), std::size_t{2 + 2 * (kRounds + 1) + kHandedOver});
    });

/// And handles of types.
const Scenario kTypes(
    "MpiThreads.MakeAndFreeTypes",
    [](const Who&) {
      in_threads(kThreads, [&](int t) {
        std::array<int, 400> out{};
        std::array<int, 400> in{};
        for (int round = 0; round < kRounds; ++round) {
          MPI_Datatype type;
          MPI_Type_contiguous(100 * t + round + 1, MPI_INT, &type);
          MPI_Type_commit(&type);
          MPI_Sendrecv(out.data(), 1, type, 0, t, in.data(), 1, type, 0, t, MPI_COMM_SELF,
                       MPI_STATUS_IGNORE);
          MPI_Type_free(&type);
        }
      });
    },
    [](const Who&) -> Lines { return {}; }, {1, 2},
    [](const Recorded& run) {
      for (int t = 0; t < kThreads; ++t) {
        Lines lines = {kFirstOfThread};
        for (int round = 0; round < kRounds; ++round) {
          const int bytes = 4 * (100 * t + round + 1);
          lines.insert(
              lines.end(),
              {"MPI_Type_contiguous", "MPI_Type_commit",
               text("MPI_Sendrecv on self | send to 0 tag %d bytes %d; recv from 0 tag %d bytes %d",
                    t, bytes, t, bytes),
               "MPI_Type_free"});
        }
        EXPECT_EQ(run.lines(0, at(t + 1)), lines) << "thread " << t;
      }
    });

/// Thread-specific data of the application, whose destructor calls MPI: after ours or before.
void ask_size(void* size) { MPI_Comm_size(MPI_COMM_WORLD, static_cast<int*>(size)); }

const Scenario kDestructor(
    "MpiThreads.MayCallMpiWhenTheyEnd",
    [](const Who& me) {
      int size = 0;
      pthread_key_t key;
      pthread_key_create(&key, ask_size);
      in_threads(1, [&](int) { pthread_setspecific(key, &size); });
      pthread_key_delete(key);
      expect(size == me.size, "the destructor's call is answered");
    },
    [](const Who&) -> Lines { return {}; }, {1, 2},
    [](const Recorded& run) {
      ASSERT_EQ(run.location_count(0), 2u);
      EXPECT_EQ(run.lines(0, 1), (Lines{kFirstOfThread, "MPI_Comm_size on world"}));
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  return megascope::mpitest::run_main(argc, argv, MPI_THREAD_MULTIPLE);
}
