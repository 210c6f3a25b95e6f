#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Calls that stay in their process: of what they are, and with how many bytes.
namespace megascope::mpitest {
namespace {

const Scenario kPack(
    "MpiPack.TellsBytesAndCommunicator",
    [](const Who&) {
      std::array<int, 6> values = {1, 2, 3, 4, 5, 6};
      std::array<char, 256> space{};
      int size = 0;
      MPI_Pack_size(6, MPI_INT, MPI_COMM_WORLD, &size);
      expect(size >= 24, "space for six numbers");
      int position = 8;
      MPI_Pack(values.data(), 6, MPI_INT, space.data(), 256, &position, MPI_COMM_WORLD);
      expect(position == 32, "the position moves over them");
      position = 8;
      std::array<int, 4> back{};
      MPI_Unpack(space.data(), 256, &position, back.data(), 4, MPI_INT, MPI_COMM_SELF);
      expect(back[3] == 4 && position == 24, "four come back");
    },
    [](const Who&) -> Lines {
      return {"MPI_Pack_size on world | here bytes 24", "MPI_Pack on world | here bytes 24",
              "MPI_Unpack on self | here bytes 16"};
    });

const Scenario kPackExternal(
    "MpiPackExternal.TellsBytes",
    [](const Who&) {
      std::array<double, 3> values = {1, 2, 3};
      std::array<char, 256> space{};
      MPI_Aint size = 0;
      MPI_Aint position = 0;
      MPI_Pack_external_size("external32", 3, MPI_DOUBLE, &size);
      MPI_Pack_external("external32", values.data(), 3, MPI_DOUBLE, space.data(), 256, &position);
      expect(position == 24 && size == 24, "three numbers");
      position = 0;
      MPI_Unpack_external("external32", space.data(), 256, &position, values.data(), 2, MPI_DOUBLE);
      expect(values[1] == 2 && position == 16, "two come back");
    },
    [](const Who&) -> Lines {
      return {"MPI_Pack_external_size | here bytes 24", "MPI_Pack_external | here bytes 24",
              "MPI_Unpack_external | here bytes 16"};
    });

const Scenario kPackRefused(
    "MpiPack.ThatDoesNotFitTellsItsErrorOnly",
    [](const Who&) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      std::array<int, 6> values{};
      std::array<char, 8> space{};
      int position = 0;
      expect(MPI_Pack(values.data(), 6, MPI_INT, space.data(), 8, &position, MPI_COMM_WORLD) !=
                 MPI_SUCCESS,
             "no space");
      expect(MPI_Pack(values.data(), -1, MPI_INT, space.data(), 8, &position, MPI_COMM_WORLD) !=
                 MPI_SUCCESS,
             "no such count");
      expect(position == 0, "nothing is packed");
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    },
    nullptr, on_ranks_of({1, 2, 4}, {}),  // MPICH packs into what is too small
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Lines& lines = run.lines(rank);
        ASSERT_EQ(lines.size(), 4u);
        for (const std::size_t call : {1u, 2u}) {
          EXPECT_EQ(lines[call].find("MPI_Pack on world | error "), 0u) << lines[call];
          EXPECT_EQ(lines[call].find("here bytes"), std::string::npos) << lines[call];
        }
      }
    });

const Scenario kMemory(
    "MpiAllocMem.TellsBytes",
    [](const Who&) {
      void* memory = nullptr;
      MPI_Alloc_mem(5000, MPI_INFO_NULL, &memory);
      MPI_Free_mem(memory);
      std::array<float, 10> in{};
      std::array<float, 10> inout{};
      MPI_Reduce_local(in.data(), inout.data(), 10, MPI_FLOAT, MPI_SUM);
    },
    [](const Who&) -> Lines {
      return {"MPI_Alloc_mem | here bytes 5000", "MPI_Free_mem",
              "MPI_Reduce_local | here bytes 40"};
    });

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const Scenario kAttributes(
    "MpiAttrPut.IsOfItsCommunicator",
    [](const Who&) {
      int key = MPI_KEYVAL_INVALID;
      MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, nullptr);
      MPI_Attr_put(MPI_COMM_SELF, key, &key);
      void* value = nullptr;
      int flag = 0;
      MPI_Attr_get(MPI_COMM_SELF, key, static_cast<void*>(&value), &flag);
      expect(flag == 1 && value == &key, "the attribute is there");
      MPI_Attr_delete(MPI_COMM_SELF, key);
      MPI_Keyval_free(&key);
    },
    [](const Who&) -> Lines {
      return {"MPI_Keyval_create {keyval k1}", "MPI_Attr_put on self {keyval k1}",
              "MPI_Attr_get on self {keyval k1, flag 1}", "MPI_Attr_delete on self {keyval k1}",
              "MPI_Keyval_free {keyval k1}"};
    });
#pragma GCC diagnostic pop

void ignore_error(MPI_Win*, int*, ...) {}

const Scenario kWindow(
    "MpiWinSetAttr.IsOfItsWindow",
    [](const Who&) {
      int key = MPI_KEYVAL_INVALID;
      MPI_Win window;
      MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, nullptr);
      MPI_Win_set_attr(window, key, &key);
      void* value = nullptr;
      int flag = 0;
      MPI_Win_get_attr(window, key, static_cast<void*>(&value), &flag);
      expect(flag == 1 && value == &key, "the attribute is there");
      MPI_Win_delete_attr(window, key);
      MPI_Win_free_keyval(&key);
      MPI_Errhandler handler;
      MPI_Win_create_errhandler(ignore_error, &handler);
      MPI_Win_set_errhandler(window, handler);
      MPI_Win_call_errhandler(window, MPI_ERR_OTHER);
      MPI_Errhandler_free(&handler);
      MPI_Win_get_errhandler(window, &handler);
      MPI_Errhandler_free(&handler);
      MPI_Win_free(&window);
    },
    [](const Who&) -> Lines {
      return {"MPI_Win_create on world | made w1 bytes 0",
              "MPI_Win_create_keyval {keyval k1}",
              "MPI_Win_set_attr on world | about w1 {keyval k1}",
              "MPI_Win_get_attr on world | about w1 {keyval k1, flag 1}",
              "MPI_Win_delete_attr on world | about w1 {keyval k1}",
              "MPI_Win_free_keyval {keyval k1}",
              "MPI_Win_create_errhandler",
              "MPI_Win_set_errhandler on world | about w1",
              text("MPI_Win_call_errhandler on world | about w1 {error_code %d}", MPI_ERR_OTHER),
              "MPI_Errhandler_free",
              "MPI_Win_get_errhandler on world | about w1",
              "MPI_Errhandler_free",
              "MPI_Win_free on world | ended w1"};
    });

const Scenario kHandlers(
    "MpiCommGetErrhandler.IsOfItsCommunicator",
    [](const Who&) {
      MPI_Errhandler handler;
      MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
      MPI_Errhandler_free(&handler);
    },
    [](const Who&) -> Lines {
      return {"MPI_Comm_get_errhandler on self", "MPI_Comm_set_errhandler on self",
              "MPI_Errhandler_free"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
