#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

/// Windows from their making to their end: every flavour, names, communicators, handles that come
/// back, refused calls.
namespace megascope::mpitest {
namespace {

std::array<int, 64> g_memory;

/// The rank's last window of this name.
WindowDefinition window_named(const Recorded& run, int rank, const std::string& name) {
  WindowDefinition found;
  for (const WindowDefinition& window : run.process(rank).windows) {
    if (window.name == name) found = window;
  }
  EXPECT_EQ(found.name, name) << "on rank " << rank;
  return found;
}

const Scenario kAllocate(
    "MpiWinAllocate.IsDefinedWithItsMemory",
    [](const Who& me) {
      MPI_Win window;
      double* memory = nullptr;
      MPI_Win_allocate(32, 8, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory), &window);
      MPI_Win_set_name(window, "allocated");
      memory[me.rank] = 1.5;
      MPI_Win_fence(0, window);
      double value = 0;
      MPI_Get(&value, 1, MPI_DOUBLE, me.next(), me.next(), 1, MPI_DOUBLE, window);
      MPI_Win_fence(0, window);
      expect(value == 1.5, "the memory is the window's");
      MPI_Win_free(&window);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Win_allocate on world | made w1 bytes 32",
              "MPI_Win_set_name on world | about w1",
              "MPI_Win_fence on world | fence w1 #0",
              text("MPI_Get on world | get w1 target %d sent 0 received 8", me.next()),
              "MPI_Win_fence on world | fence w1 #1",
              "MPI_Win_free on world | ended w1"};
    },
    on_ranks_of({1, 2, 4}, {1}),  // MPICH 4.0 misses the memory where sizes differ
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const WindowDefinition window = window_named(run, rank, "allocated");
        EXPECT_EQ(window.flavor, WindowFlavor::kAllocate);
        EXPECT_EQ(window.size_bytes, 32U);
        EXPECT_EQ(window.displacement_bytes, 8U);
      }
    });

const Scenario kShared(
    "MpiWinAllocateShared.IsAskedForTheMemoryOfOthers",
    [](const Who& me) {
      MPI_Win window;
      int* memory = nullptr;
      MPI_Win_allocate_shared(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory),
                              &window);
      MPI_Win_set_name(window, "shared");
      MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
      memory[0] = me.rank;
      MPI_Win_sync(window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Aint size = 0;
      int unit = 0;
      int* theirs = nullptr;
      MPI_Win_shared_query(window, me.next(), &size, &unit, static_cast<void*>(&theirs));
      expect(size == 16 && unit == 4 && *theirs == me.next(), "the memory is shared");
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Win_allocate_shared on world | made w1 bytes 16",
              "MPI_Win_set_name on world | about w1",
              "MPI_Win_lock_all on world | lock w1 all nocheck",
              "MPI_Win_sync on world | sync w1",
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              text("MPI_Win_shared_query on world | about w1 {window_rank %d, window_bytes 16, "
                   "displacement_unit 4}",
                   me.next()),
              "MPI_Barrier on world | coll #1 sent 0 received 0",
              "MPI_Win_unlock_all on world | unlock w1 all",
              "MPI_Win_free on world | ended w1"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(window_named(run, rank, "shared").flavor, WindowFlavor::kShared);
      }
    });

const Scenario kDynamic(
    "MpiWinCreateDynamic.RecordsWhatIsAttached",
    [](const Who& me) {
      MPI_Win window;
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      MPI_Win_set_name(window, "dynamic");
      std::array<int, 5> memory{};
      MPI_Win_attach(window, memory.data(), 20);
      MPI_Aint address = 0;
      MPI_Get_address(memory.data(), &address);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me.rank, 0, window);
      MPI_Put(&me.size, 1, MPI_INT, me.rank, address, 1, MPI_INT, window);
      MPI_Win_unlock(me.rank, window);
      expect(memory[0] == me.size, "the data is put");
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_detach(window, memory.data());
      MPI_Win_free(&window);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Win_create_dynamic on world | made w1 bytes 0",
              "MPI_Win_set_name on world | about w1",
              "MPI_Win_attach on world | about w1 bytes 20",
              "MPI_Get_address",
              text("MPI_Win_lock on world | lock w1 %d exclusive", me.rank),
              text("MPI_Put on world | put w1 target %d sent 4 received 0", me.rank),
              text("MPI_Win_unlock on world | unlock w1 %d", me.rank),
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              "MPI_Win_detach on world | about w1",
              "MPI_Win_free on world | ended w1"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(window_named(run, rank, "dynamic").flavor, WindowFlavor::kDynamic);
      }
    });

MPI_Win make_window(MPI_Comm comm) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(g_memory.data(), sizeof g_memory, sizeof(int), MPI_INFO_NULL, comm, &window);
  return window;
}

const Scenario kQueries(
    "MpiWinGetName.AndOtherQueriesNameTheirWindow",
    [](const Who&) {
      MPI_Win window = make_window(MPI_COMM_WORLD);
      std::array<char, MPI_MAX_OBJECT_NAME> name{};
      int length = 0;
      MPI_Win_set_name(window, "first name");
      MPI_Win_set_name(window, "queried");
      MPI_Win_get_name(window, name.data(), &length);
      expect(std::strcmp(name.data(), "queried") == 0, "the name comes back");
      MPI_Group group;
      MPI_Win_get_group(window, &group);
      MPI_Info info;
      MPI_Win_get_info(window, &info);
      MPI_Win_set_info(window, info);
      MPI_Info_free(&info);
      MPI_Group_free(&group);
      MPI_Win_free(&window);
    },
    [](const Who&) -> Lines {
      return {"MPI_Win_create on world | made w1 bytes 256",
              "MPI_Win_set_name on world | about w1",
              "MPI_Win_set_name on world | about w1",
              "MPI_Win_get_name on world | about w1",
              "MPI_Win_get_group on world | about w1",
              "MPI_Win_get_info on world | about w1",
              "MPI_Win_set_info on world | about w1",
              "MPI_Info_free",
              "MPI_Group_free",
              "MPI_Win_free on world | ended w1"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(window_named(run, rank, "queried").displacement_bytes, 4U);
      }
    });

const Scenario kComms(
    "MpiWinCreate.ShowsTheCommunicatorAlsoWhenThatIsFreed",
    [](const Who& me) {
      MPI_Comm part;
      MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, 0, &part);
      MPI_Comm_set_name(part, me.rank % 2 == 0 ? "even" : "odd");
      MPI_Win first = make_window(part);
      MPI_Win second = make_window(part);
      MPI_Win alone = make_window(MPI_COMM_SELF);
      MPI_Comm_free(&part);
      MPI_Win_fence(0, second);
      MPI_Put(&me.rank, 1, MPI_INT, 0, 0, 1, MPI_INT, second);
      MPI_Win_fence(0, second);
      MPI_Win_fence(0, alone);
      MPI_Win_free(&first);
      MPI_Win_free(&second);
      MPI_Win_free(&alone);
    },
    [](const Who& me) -> Lines {
      const char* part = me.rank % 2 == 0 ? "even" : "odd";
      return {text("MPI_Comm_split on world | coll #0 sent 0 received 0; created %s", part),
              text("MPI_Comm_set_name on %s", part),
              text("MPI_Win_create on %s | made w1 bytes 256", part),
              text("MPI_Win_create on %s | made w2 bytes 256", part),
              "MPI_Win_create on self | made w3 bytes 256",
              text("MPI_Comm_free on %s | ended %s", part, part),
              text("MPI_Win_fence on %s | fence w2 #0", part),
              text("MPI_Put on %s | put w2 target 0 sent 4 received 0", part),
              text("MPI_Win_fence on %s | fence w2 #1", part),
              "MPI_Win_fence on self | fence w3 #0",
              text("MPI_Win_free on %s | ended w1", part),
              text("MPI_Win_free on %s | ended w2", part),
              "MPI_Win_free on self | ended w3"};
    });

const Scenario kAgain(
    "MpiWinFree.LetsTheHandleComeBackAsAnotherWindow",
    [](const Who& me) {
      for (int i = 0; i < 20; ++i) {
        MPI_Win window = make_window(i % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF);
        MPI_Win_fence(0, window);
        MPI_Put(&me.rank, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
      }
    },
    [](const Who&) {
      Lines lines;
      for (int i = 0; i < 20; ++i) {
        const char* comm = i % 2 == 0 ? "world" : "self";
        lines.push_back(text("MPI_Win_create on %s | made w%d bytes 256", comm, i + 1));
        lines.push_back(text("MPI_Win_fence on %s | fence w%d #0", comm, i + 1));
        lines.push_back(text("MPI_Put on %s | put w%d target 0 sent 4 received 0", comm, i + 1));
        lines.push_back(text("MPI_Win_fence on %s | fence w%d #1", comm, i + 1));
        lines.push_back(text("MPI_Win_free on %s | ended w%d", comm, i + 1));
      }
      return lines;
    });

/// Three windows at once: more than one fits no cache slot by luck.
const Scenario kMany(
    "MpiWinCreate.OfManyWindowsAtOnceTellsThemApart",
    [](const Who& me) {
      std::array<MPI_Win, 20> windows{};
      for (MPI_Win& window : windows) window = make_window(MPI_COMM_WORLD);
      for (MPI_Win window : windows) MPI_Win_fence(0, window);
      for (MPI_Win window : windows)
        MPI_Put(&me.rank, 1, MPI_INT, me.next(), 0, 1, MPI_INT, window);
      for (MPI_Win window : windows) MPI_Win_fence(0, window);
      for (MPI_Win& window : windows) MPI_Win_free(&window);
    },
    [](const Who& me) {
      Lines lines;
      for (int i = 1; i <= 20; ++i)
        lines.push_back(text("MPI_Win_create on world | made w%d bytes 256", i));
      for (int i = 1; i <= 20; ++i)
        lines.push_back(text("MPI_Win_fence on world | fence w%d #0", i));
      for (int i = 1; i <= 20; ++i) {
        lines.push_back(
            text("MPI_Put on world | put w%d target %d sent 4 received 0", i, me.next()));
      }
      for (int i = 1; i <= 20; ++i)
        lines.push_back(text("MPI_Win_fence on world | fence w%d #1", i));
      for (int i = 1; i <= 20; ++i) lines.push_back(text("MPI_Win_free on world | ended w%d", i));
      return lines;
    });

#ifdef OPEN_MPI
constexpr int kBadPromise = MPI_ERR_ASSERT;
#else
constexpr int kBadPromise = MPI_ERR_ARG;
#endif

const Scenario kRefused(
    "MpiPut.ThatIsRefusedLeavesOnlyItsError",
    [](const Who& me) {
      MPI_Win window = make_window(MPI_COMM_WORLD);
      MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
      const int value = 1;
      MPI_Request request = MPI_REQUEST_NULL;
      expect(
          error_class(MPI_Put(&value, 1, MPI_INT, me.size, 0, 1, MPI_INT, window)) == MPI_ERR_RANK,
          "no such rank");
      expect(error_class(MPI_Get(nullptr, -1, MPI_INT, 0, 0, 1, MPI_INT, window)) == MPI_ERR_COUNT,
             "no such count");
      expect(MPI_Accumulate(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, MPI_SUM, window) !=
                 MPI_SUCCESS,
             "no such type");
      expect(error_class(MPI_Rput(&value, 1, MPI_INT, -77, 0, 1, MPI_INT, window, &request)) ==
                 MPI_ERR_RANK,
             "no such rank");
      expect(MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, window) != MPI_SUCCESS, "no such target");
      expect(error_class(MPI_Win_fence(1 << 20, window)) == kBadPromise, "no such promise");
      MPI_Win_fence(0, window);
      MPI_Win_fence(0, window);
      MPI_Win_free(&window);
    },
    [](const Who&) -> Lines {
      return {"MPI_Win_create on world | made w1 bytes 256",
              "MPI_Win_set_errhandler on world | about w1",
              text("MPI_Put on world | error %d", MPI_ERR_RANK),
              text("MPI_Get on world | error %d", MPI_ERR_COUNT),
              text("MPI_Accumulate on world | error %d", MPI_ERR_TYPE),
              text("MPI_Rput on world | error %d", MPI_ERR_RANK),
              text("MPI_Win_lock on world | error %d", MPI_ERR_RANK),
              text("MPI_Win_fence on world | error %d", kBadPromise),
              "MPI_Win_fence on world | fence w1 #0",
              "MPI_Win_fence on world | fence w1 #1",
              "MPI_Win_free on world | ended w1"};
    });

const Scenario kRefusedMaking(
    "MpiWinCreate.ThatIsRefusedIsNotCounted",
    [](const Who& me) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Win window = MPI_WIN_NULL;
      if (me.rank == 0) {
        expect(error_class(MPI_Win_create(g_memory.data(), -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                          &window)) == MPI_ERR_SIZE,
               "no size");
        expect(error_class(MPI_Win_create(g_memory.data(), 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD,
                                          &window)) == MPI_ERR_DISP,
               "no unit");
      }
      expect(error_class(MPI_Win_fence(0, MPI_WIN_NULL)) == MPI_ERR_WIN, "no window");
      expect(
          error_class(MPI_Put(&me.rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL)) == MPI_ERR_WIN,
          "no window");
      window = make_window(MPI_COMM_WORLD);
      MPI_Win_free(&window);
      expect(error_class(MPI_Win_free(&window)) == MPI_ERR_WIN, "the window is gone");
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    },
    [](const Who& me) {
      Lines lines = {"MPI_Comm_set_errhandler on world"};
      if (me.rank == 0) {
        lines.push_back(text("MPI_Win_create on world | error %d", MPI_ERR_SIZE));
        lines.push_back(text("MPI_Win_create on world | error %d", MPI_ERR_DISP));
      }
      lines.push_back(text("MPI_Win_fence | error %d", MPI_ERR_WIN));
      lines.push_back(text("MPI_Put | error %d", MPI_ERR_WIN));
      lines.insert(lines.end(), {"MPI_Win_create on world | made w1 bytes 256",
                                 "MPI_Win_free on world | ended w1"});
      lines.push_back(text("MPI_Win_free | error %d", MPI_ERR_WIN));
      lines.emplace_back("MPI_Comm_set_errhandler on world");
      return lines;
    });

/// A library that calls PMPI makes the window; the program uses it.
const Scenario kUnseen(
    "MpiPut.OnAWindowMadeOutOfSightIsRecordedAllTheSame",
    [](const Who& me) {
      MPI_Win window;
      MPI_Win alone;
      PMPI_Win_create(g_memory.data(), sizeof g_memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      PMPI_Win_create(g_memory.data(), sizeof g_memory, 4, MPI_INFO_NULL, MPI_COMM_SELF, &alone);
      MPI_Win_fence(0, window);
      MPI_Put(&me.rank, 1, MPI_INT, me.next(), 0, 1, MPI_INT, window);
      MPI_Win_fence(0, window);
      MPI_Win_fence(0, alone);
      MPI_Win_free(&window);
      PMPI_Win_free(&alone);
    },
    [](const Who& me) -> Lines {
      return {"MPI_Win_fence on world | fence w1 #0",
              text("MPI_Put on world | put w1 target %d sent 4 received 0", me.next()),
              "MPI_Win_fence on world | fence w1 #1",
              me.size == 1 ? "MPI_Win_fence on world | fence w2 #0"
                           : "MPI_Win_fence on self | fence w2 #0",
              "MPI_Win_free on world | ended w1"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
