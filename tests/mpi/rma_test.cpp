#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>

/// One-sided operations between fences: target and bytes of each function.
namespace megascope::mpitest {
namespace {

/// Memory of a window made with MPI_Win_create.
std::array<int, 64> g_memory;
constexpr MPI_Aint kBogusPlace = 40;  // inside of the window, where no test looks

/// The body between two fences on a window of its own.
template <class Body>
void between_fences(Body body) {
  g_memory.fill(7);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(g_memory.data(), sizeof g_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Win_fence(0, window);
  body(window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  expect(window == MPI_WIN_NULL, "the window is gone");
}
Lines between_fences_lines(const Lines& inner) {
  Lines lines = {"MPI_Win_create on world | made w1 bytes 256",
                 "MPI_Win_fence on world | fence w1 #0"};
  lines.insert(lines.end(), inner.begin(), inner.end());
  lines.emplace_back("MPI_Win_fence on world | fence w1 #1");
  lines.emplace_back("MPI_Win_free on world | ended w1");
  return lines;
}

const Scenario kPut(
    "MpiPut.RecordsTargetAndBytes",
    [](const Who& me) {
      std::array<int, 3> out{me.rank, 2, 3};
      between_fences([&](MPI_Win window) {
        MPI_Put(out.data(), 3, MPI_INT, me.next(), 4, 3, MPI_INT, window);
      });
      expect(g_memory[4] == me.previous() && g_memory[6] == 3 && g_memory[7] == 7,
             "the data is put");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Put on world | put w1 target %d sent 12 received 0", me.next())});
    });

const Scenario kGet(
    "MpiGet.RecordsTargetAndBytes",
    [](const Who& me) {
      std::array<int, 5> in{};
      between_fences([&](MPI_Win window) {
        MPI_Get(in.data(), 5, MPI_INT, me.previous(), 0, 5, MPI_INT, window);
      });
      expect(in[0] == 7 && in[4] == 7, "the data is got");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Get on world | get w1 target %d sent 0 received 20", me.previous())});
    });

const Scenario kAccumulate(
    "MpiAccumulate.RecordsTargetAndBytes",
    [](const Who& me) {
      std::array<int, 2> out{me.rank + 1, 10};
      between_fences([&](MPI_Win window) {
        MPI_Accumulate(out.data(), 2, MPI_INT, 0, 1, 2, MPI_INT, MPI_SUM, window);
      });
      if (me.rank == 0) expect(g_memory[2] == 7 + 10 * me.size, "everybody's data is added");
    },
    [](const Who&) {
      return between_fences_lines(
          {"MPI_Accumulate on world | accumulate w1 target 0 sent 8 received 0"});
    });

const Scenario kGetAccumulate(
    "MpiGetAccumulate.RecordsBytesOfBothWays",
    [](const Who& me) {
      std::array<int, 3> out{1, 1, 1};
      std::array<int, 3> in{};
      between_fences([&](MPI_Win window) {
        MPI_Get_accumulate(out.data(), 3, MPI_INT, in.data(), 3, MPI_INT, me.next(), 0, 3, MPI_INT,
                           MPI_SUM, window);
      });
      expect(in[0] == 7 && g_memory[2] == 8, "old values are got, new ones added");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Get_accumulate on world | get-accumulate w1 target %d sent 12 received 12",
                me.next())});
    });

const Scenario kNoOp(
    "MpiGetAccumulate.WithoutAnOperationSendsNothing",
    [](const Who& me) {
      std::array<int, 3> in{};
      int result = 0;
      between_fences([&](MPI_Win window) {
        MPI_Get_accumulate(nullptr, 17, MPI_DOUBLE, in.data(), 2, MPI_INT, me.next(), 0, 2, MPI_INT,
                           MPI_NO_OP, window);
        MPI_Fetch_and_op(nullptr, &result, MPI_INT, me.next(), 3, MPI_NO_OP, window);
      });
      expect(in[1] == 7 && in[2] == 0 && result == 7, "values are got");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Get_accumulate on world | get-accumulate w1 target %d sent 0 received 8",
                me.next()),
           text("MPI_Fetch_and_op on world | get-accumulate w1 target %d sent 0 received 4",
                me.next())});
    });

const Scenario kFetchAndOp(
    "MpiFetchAndOp.RecordsOneElementEachWay",
    [](const Who& me) {
      const int out = 5;
      int in = 0;
      between_fences([&](MPI_Win window) {
        MPI_Fetch_and_op(&out, &in, MPI_INT, me.next(), 9, MPI_SUM, window);
      });
      expect(in == 7 && g_memory[9] == 12, "the element is fetched and added to");
    },
    [](const Who& me) {
      return between_fences_lines({text(
          "MPI_Fetch_and_op on world | get-accumulate w1 target %d sent 4 received 4", me.next())});
    });

const Scenario kCompareAndSwap(
    "MpiCompareAndSwap.RecordsBothOperandsAndTheResult",
    [](const Who& me) {
      const int out = 5;
      const int compare = 7;
      int in = 0;
      between_fences([&](MPI_Win window) {
        MPI_Compare_and_swap(&out, &compare, &in, MPI_INT, me.next(), 9, window);
      });
      expect(in == 7 && g_memory[9] == 5, "the element is swapped");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Compare_and_swap on world | compare-and-swap w1 target %d sent 8 received 4",
                me.next())});
    });

const Scenario kDerived(
    "MpiPut.CountsTheBytesOfADerivedTypeWithoutItsGaps",
    [](const Who& me) {
      std::array<int, 12> out{};
      MPI_Datatype type;
      MPI_Type_vector(3, 1, 4, MPI_INT, &type);
      MPI_Type_commit(&type);
      between_fences([&](MPI_Win window) {
        MPI_Put(out.data(), 1, type, me.next(), 0, 3, MPI_INT, window);
        MPI_Get(out.data(), 1, type, me.rank, 20, 3, MPI_INT, window);
      });
      MPI_Type_free(&type);
    },
    [](const Who& me) {
      Lines lines = between_fences_lines(
          {text("MPI_Put on world | put w1 target %d sent 12 received 0", me.next()),
           text("MPI_Get on world | get w1 target %d sent 0 received 12", me.rank)});
      lines.insert(lines.begin(), {"MPI_Type_vector", "MPI_Type_commit"});
      lines.emplace_back("MPI_Type_free");
      return lines;
    });

const Scenario kNothing(
    "MpiPut.OfNothingIsAnOperationAndToProcNullIsNone",
    [](const Who& me) {
      int value = 1;
      int result = 0;
      between_fences([&](MPI_Win window) {
        MPI_Put(nullptr, 0, MPI_INT, me.next(), kBogusPlace, 0, MPI_INT, window);
        MPI_Get(nullptr, 0, MPI_DOUBLE, me.next(), kBogusPlace, 0, MPI_DOUBLE, window);
        MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, window);
        MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, window);
        MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, MPI_SUM, window);
        MPI_Get_accumulate(&value, 1, MPI_INT, &result, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1,
                           MPI_INT, MPI_SUM, window);
        MPI_Fetch_and_op(&value, &result, MPI_INT, MPI_PROC_NULL, 1 << 20, MPI_SUM, window);
        MPI_Compare_and_swap(&value, &value, &result, MPI_INT, MPI_PROC_NULL, 1 << 20, window);
      });
      expect(value == 1 && result == 0, "no rank answers");
    },
    [](const Who& me) {
      return between_fences_lines(
          {text("MPI_Put on world | put w1 target %d sent 0 received 0", me.next()),
           text("MPI_Get on world | get w1 target %d sent 0 received 0", me.next()),
           "MPI_Put on world", "MPI_Get on world", "MPI_Accumulate on world",
           "MPI_Get_accumulate on world", "MPI_Fetch_and_op on world",
           "MPI_Compare_and_swap on world"});
    });

const Scenario kMany(
    "MpiPut.InNumbersIsRecordedOneByOne",
    [](const Who& me) {
      std::array<int, 8> out{};
      between_fences([&](MPI_Win window) {
        for (int i = 0; i < 3000; ++i) {
          MPI_Put(out.data(), i % 8, MPI_INT, (me.rank + i) % me.size, 0, i % 8, MPI_INT, window);
        }
      });
    },
    [](const Who& me) {
      Lines lines;
      for (int i = 0; i < 3000; ++i) {
        lines.push_back(text("MPI_Put on world | put w1 target %d sent %d received 0",
                             (me.rank + i) % me.size, i % 8 * 4));
      }
      return between_fences_lines(lines);
    });

const Scenario kAssertions(
    "MpiWinFence.RecordsWhatTheProgramPromises",
    [](const Who&) {
      MPI_Win window = MPI_WIN_NULL;
      MPI_Win_create(g_memory.data(), sizeof g_memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
      MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, window);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
      MPI_Win_free(&window);
    },
    [](const Who&) -> Lines {
      return {"MPI_Win_create on world | made w1 bytes 256",
              "MPI_Win_fence on world | fence w1 #0 noprecede",
              "MPI_Win_fence on world | fence w1 #1 nostore noput",
              "MPI_Win_fence on world | fence w1 #2 nosucceed", "MPI_Win_free on world | ended w1"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
