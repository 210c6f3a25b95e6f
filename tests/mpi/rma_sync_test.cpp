#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Synchronisation of windows: groups, locks, flushes.
namespace megascope::mpitest {
namespace {

std::array<int, 64> g_memory;

MPI_Win make_window() {
  g_memory.fill(7);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(g_memory.data(), sizeof g_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  return window;
}
Lines around_lines(const Lines& inner) {
  Lines lines = {"MPI_Win_create on world | made w1 bytes 256"};
  lines.insert(lines.end(), inner.begin(), inner.end());
  lines.emplace_back("MPI_Win_free on world | ended w1");
  return lines;
}

MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world;
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&world);
  return group;
}
void add_group_lines(Lines& lines) {
  lines.insert(lines.end(), {"MPI_Comm_group on world", "MPI_Group_incl", "MPI_Group_free"});
}

const Scenario kGroups(
    "MpiWinPost.AndStartNameTheirGroupWaitAndCompleteToo",
    [](const Who& me) {
      MPI_Win window = make_window();
      MPI_Group origins = group_of({me.previous()});
      MPI_Group targets = group_of({me.next()});
      for (int round = 0; round < 2; ++round) {
        MPI_Win_post(origins, round == 0 ? 0 : MPI_MODE_NOSTORE, window);
        MPI_Win_start(targets, 0, window);
        MPI_Put(&me.rank, 1, MPI_INT, me.next(), round, 1, MPI_INT, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
      }
      expect(g_memory[0] == me.previous() && g_memory[1] == me.previous(), "the data is there");
      MPI_Group_free(&origins);
      MPI_Group_free(&targets);
      MPI_Win_free(&window);
    },
    [](const Who& me) {
      Lines lines;
      add_group_lines(lines);
      add_group_lines(lines);
      for (int round = 0; round < 2; ++round) {
        lines.push_back(text("MPI_Win_post on world | post w1 with %d%s", me.previous(),
                             round == 0 ? "" : " nostore"));
        lines.push_back(text("MPI_Win_start on world | start w1 with %d", me.next()));
        lines.push_back(text("MPI_Put on world | put w1 target %d sent 4 received 0", me.next()));
        lines.push_back(text("MPI_Win_complete on world | complete w1 with %d", me.next()));
        lines.push_back(text("MPI_Win_wait on world | wait w1 with %d", me.previous()));
      }
      lines.insert(lines.end(), {"MPI_Group_free", "MPI_Group_free"});
      return around_lines(lines);
    });

/// Groups come and go: a handle is likely to come back for another one.
const Scenario kFreedGroups(
    "MpiWinStart.KnowsAGroupWhoseHandleCameBack",
    [](const Who& me) {
      MPI_Win window = make_window();
      for (int target = 0; target < me.size; ++target) {
        if (me.rank == target) {
          MPI_Group origins = group_of({0});
          MPI_Win_post(origins, 0, window);
          MPI_Group_free(&origins);
        }
        if (me.rank == 0) {
          MPI_Group targets = group_of({target});
          MPI_Win_start(targets, 0, window);
          MPI_Group_free(&targets);
          MPI_Win_complete(window);
        }
        if (me.rank == target) MPI_Win_wait(window);
      }
      MPI_Win_free(&window);
    },
    [](const Who& me) {
      Lines lines;
      for (int target = 0; target < me.size; ++target) {
        if (me.rank == target) {
          add_group_lines(lines);
          lines.insert(lines.end(), {"MPI_Win_post on world | post w1 with 0", "MPI_Group_free"});
        }
        if (me.rank == 0) {
          add_group_lines(lines);
          lines.push_back(text("MPI_Win_start on world | start w1 with %d", target));
          lines.emplace_back("MPI_Group_free");
          lines.push_back(text("MPI_Win_complete on world | complete w1 with %d", target));
        }
        if (me.rank == target) lines.emplace_back("MPI_Win_wait on world | wait w1 with 0");
      }
      return around_lines(lines);
    });

const Scenario kNone(
    "MpiWinPost.OfProcNullHasAnEmptyGroup",
    [](const Who&) {
      MPI_Win window = make_window();
      MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOCHECK, window);
      MPI_Win_start(MPI_GROUP_EMPTY, MPI_MODE_NOCHECK, window);
      MPI_Win_complete(window);
      MPI_Win_wait(window);
      MPI_Win_free(&window);
    },
    [](const Who&) {
      return around_lines({"MPI_Win_post on world | post w1 with nocheck",
                           "MPI_Win_start on world | start w1 with nocheck",
                           "MPI_Win_complete on world | complete w1 with",
                           "MPI_Win_wait on world | wait w1 with"});
    });

const Scenario kTest(
    "MpiWinTest.TellsWhenTheEpochIsOver",
    [](const Who& me) {
      MPI_Win window = make_window();
      MPI_Group origins = group_of({me.previous()});
      MPI_Group targets = group_of({me.next()});
      MPI_Win_post(origins, 0, window);
      int flag = -1;
      MPI_Win_test(window, &flag);
      expect(flag == 0, "no rank has accessed the window yet");
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_start(targets, 0, window);
      MPI_Win_complete(window);
      for (flag = 0; flag == 0;) MPI_Win_test(window, &flag);
      MPI_Group_free(&origins);
      MPI_Group_free(&targets);
      MPI_Win_free(&window);
    },
    nullptr, {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Who me{rank, run.rank_count()};
        std::vector<std::string> tests;
        for (const std::string& line : run.lines(rank)) {
          if (line.starts_with("MPI_Win_test")) tests.push_back(line);
        }
        ASSERT_GE(tests.size(), 2u);
        EXPECT_EQ(tests.back(), text("MPI_Win_test on world | wait w1 with %d", me.previous()));
        for (std::size_t i = 0; i + 1 < tests.size(); ++i)
          EXPECT_EQ(tests[i], "MPI_Win_test on world | about w1");
      }
    });

const Scenario kLocks(
    "MpiWinLock.RecordsTargetAndKind",
    [](const Who& me) {
      MPI_Win window = make_window();
      const int zero = 0;
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Put(&zero, 1, MPI_INT, 0, me.rank, 1, MPI_INT, window);
      MPI_Win_unlock(0, window);
      MPI_Win_lock(MPI_LOCK_SHARED, me.next(), MPI_MODE_NOCHECK, window);
      MPI_Win_unlock(me.next(), window);
      MPI_Win_lock_all(0, window);
      MPI_Win_unlock_all(window);
      MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
      if (me.rank == 0) expect(g_memory[at(me.size - 1)] == 0, "everybody put");
    },
    [](const Who& me) {
      return around_lines({"MPI_Barrier on world | coll #0 sent 0 received 0",
                           "MPI_Win_lock on world | lock w1 0 exclusive",
                           "MPI_Put on world | put w1 target 0 sent 4 received 0",
                           "MPI_Win_unlock on world | unlock w1 0",
                           text("MPI_Win_lock on world | lock w1 %d nocheck", me.next()),
                           text("MPI_Win_unlock on world | unlock w1 %d", me.next()),
                           "MPI_Win_lock_all on world | lock w1 all",
                           "MPI_Win_unlock_all on world | unlock w1 all",
                           "MPI_Win_lock_all on world | lock w1 all nocheck",
                           "MPI_Win_unlock_all on world | unlock w1 all"});
    });

const Scenario kTestOfNone(
    "MpiWinTest.OfAnEpochForNoRankIsItsEnd",
    [](const Who&) {
      MPI_Win window = make_window();
      MPI_Win_post(MPI_GROUP_EMPTY, 0, window);
      int flag = 0;
      MPI_Win_test(window, &flag);
      expect(flag == 1, "no rank is waited for");
      MPI_Win_free(&window);
    },
    [](const Who&) {
      return around_lines(
          {"MPI_Win_post on world | post w1 with", "MPI_Win_test on world | wait w1 with"});
    });

const Scenario kFlushes(
    "MpiWinFlush.RecordsTargetAndWhetherItIsLocal",
    [](const Who& me) {
      MPI_Win window = make_window();
      MPI_Win_lock_all(0, window);
      MPI_Win_flush(me.next(), window);
      MPI_Win_flush_local(me.next(), window);
      MPI_Win_flush_all(window);
      MPI_Win_flush_local_all(window);
      MPI_Win_sync(window);
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    },
    [](const Who& me) {
      return around_lines({"MPI_Win_lock_all on world | lock w1 all",
                           text("MPI_Win_flush on world | flush w1 %d", me.next()),
                           text("MPI_Win_flush_local on world | flush local w1 %d", me.next()),
                           "MPI_Win_flush_all on world | flush w1 all",
                           "MPI_Win_flush_local_all on world | flush local w1 all",
                           "MPI_Win_sync on world | sync w1",
                           "MPI_Win_unlock_all on world | unlock w1 all"});
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
