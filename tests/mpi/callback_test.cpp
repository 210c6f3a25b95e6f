#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

/// MPI calls that the application makes inside its own callbacks have a depth and come behind the
/// call that they are inside of. What MPI calls of itself is not the application's.
namespace megascope::mpitest {
namespace {

constexpr char
    kOfSelf[] = "MPI_Sendrecv on self depth 1 | send to 0 tag 1 bytes 4; recv from 0 tag 1 bytes 4";

void send_to_self(int bytes) {
  static std::array<char, 4096> out;
  static std::array<char, 4096> in;
  MPI_Sendrecv(out.data(), bytes, MPI_BYTE, 0, 1, in.data(), 4096, MPI_BYTE, 0, 1, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
}

int copy_attribute(MPI_Comm comm, int, void*, void* value, void* copied, int* flag) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  send_to_self(4);
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_attribute(MPI_Comm comm, int, void*, void*) {
  int size = -1;
  return MPI_Comm_size(comm, &size);
}

const Scenario kAttributes(
    "MpiCommDup.HasTheCallsOfAttributeFunctionsInside",
    [](const Who&) {
      int key = 0;
      MPI_Comm first;
      MPI_Comm second;
      MPI_Comm_dup(MPI_COMM_WORLD, &first);
      MPI_Comm_set_name(first, "first");
      MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
      MPI_Comm_set_attr(first, key, &key);
      MPI_Comm_dup(first, &second);
      MPI_Comm_set_name(second, "second");
      void* value = nullptr;
      int flag = 0;
      MPI_Comm_get_attr(second, key, &value, &flag);
      expect(flag == 1 && value == &key, "the attribute was copied");
      MPI_Comm_delete_attr(first, key);
      MPI_Comm_free(&second);
      MPI_Comm_free_keyval(&key);
      MPI_Comm_free(&first);
    },
    [](const Who&) -> Lines {
      return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created first",
              "MPI_Comm_set_name on first",
              "MPI_Comm_create_keyval {keyval k1}",
              "MPI_Comm_set_attr on first {keyval k1}",
              "MPI_Comm_dup on first | coll #0 sent 0 received 0; created second",
              "MPI_Comm_rank on first depth 1",
              kOfSelf,
              "MPI_Comm_set_name on second",
              "MPI_Comm_get_attr on second {keyval k1, flag 1}",
              "MPI_Comm_delete_attr on first {keyval k1}",
              "MPI_Comm_size on first depth 1",
              "MPI_Comm_free on second | ended second",
              "MPI_Comm_size on second depth 1",
              "MPI_Comm_free_keyval {keyval k1}",
              "MPI_Comm_free on first | ended first"};
    });

int copy_by_duplicating(MPI_Comm, int, void* inner_comm, void*, void*, int* flag) {
  MPI_Comm inner;
  MPI_Comm_dup(*static_cast<MPI_Comm*>(inner_comm), &inner);
  MPI_Comm_set_name(inner, "innermost");
  MPI_Comm_free(&inner);
  *flag = 0;
  return MPI_SUCCESS;
}

/// The copy function of one communicator's attribute duplicates another, which has an attribute as
/// well.
const Scenario kDepths(
    "MpiCommDup.InsideAnAttributeFunctionHasADepthOfItsOwn",
    [](const Who&) {
      static MPI_Comm inner;
      int inner_key = 0;
      int outer_key = 0;
      MPI_Comm_dup(MPI_COMM_SELF, &inner);
      MPI_Comm_set_name(inner, "inner");
      MPI_Comm_create_keyval(copy_attribute, delete_attribute, &inner_key, nullptr);
      MPI_Comm_create_keyval(copy_by_duplicating, MPI_COMM_NULL_DELETE_FN, &outer_key, &inner);
      MPI_Comm_set_attr(inner, inner_key, &inner_key);
      MPI_Comm outer;
      MPI_Comm_dup(MPI_COMM_SELF, &outer);
      MPI_Comm_set_name(outer, "outer");
      MPI_Comm_set_attr(outer, outer_key, &outer_key);
      MPI_Comm again;
      MPI_Comm_dup(outer, &again);
      MPI_Comm_set_name(again, "again");
      for (MPI_Comm* comm : {&again, &outer, &inner}) MPI_Comm_free(comm);
      for (int* key : {&inner_key, &outer_key}) MPI_Comm_free_keyval(key);
    },
    [](const Who&) -> Lines {
      return {"MPI_Comm_dup on self | coll #0 sent 0 received 0; created inner",
              "MPI_Comm_set_name on inner",
              "MPI_Comm_create_keyval",
              "MPI_Comm_create_keyval",
              "MPI_Comm_set_attr on inner",
              "MPI_Comm_dup on self | coll #1 sent 0 received 0; created outer",
              "MPI_Comm_set_name on outer",
              "MPI_Comm_set_attr on outer",
              "MPI_Comm_dup on outer | coll #0 sent 0 received 0; created again",
              "MPI_Comm_dup on inner depth 1 | coll #0 sent 0 received 0; created innermost",
              "MPI_Comm_rank on inner depth 2",
              "MPI_Sendrecv on self depth 2 | send to 0 tag 1 bytes 4; recv from 0 tag 1 bytes 4",
              "MPI_Comm_set_name on innermost depth 1",
              "MPI_Comm_free on innermost depth 1 | ended innermost",
              "MPI_Comm_size on innermost depth 2",
              "MPI_Comm_set_name on again",
              "MPI_Comm_free on again | ended again",
              "MPI_Comm_free on outer | ended outer",
              "MPI_Comm_free on inner | ended inner",
              "MPI_Comm_size on inner depth 1",
              "MPI_Comm_free_keyval",
              "MPI_Comm_free_keyval"};
    });

int delete_of_type(MPI_Datatype type, int, void*, void*) {
  std::array<int, 8> data{};
  return MPI_Bcast(data.data(), 1, type, 0, MPI_COMM_SELF);
}

/// The type is used for the last time while it is freed; another one with its handle has its own
/// size.
const Scenario kTypes(
    "MpiTypeFree.HasTheCallsOfAttributeFunctionsInside",
    [](const Who&) {
      int key = 0;
      MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &key, nullptr);
      for (const int count : {2, 5}) {
        MPI_Datatype type;
        MPI_Type_contiguous(count, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_attr(type, key, nullptr);
        MPI_Type_free(&type);
      }
      MPI_Type_free_keyval(&key);
    },
    [](const Who&) -> Lines {
      Lines lines = {"MPI_Type_create_keyval {keyval k1}"};
      for (const int count : {2, 5}) {
        lines.insert(lines.end(),
                     {text("MPI_Type_contiguous {type_bytes %d}", 4 * count), "MPI_Type_commit",
                      "MPI_Type_set_attr", "MPI_Type_free",
                      text("MPI_Bcast on self depth 1 | coll #%d root 0 sent %d received %d",
                           count == 2 ? 0 : 1, 4 * count, 4 * count)});
      }
      lines.emplace_back("MPI_Type_free_keyval {keyval k1}");
      return lines;
    });

int g_operator_calls = 0;
void add_and_ask(void* in, void* inout, int* count, MPI_Datatype* type) {
  int size = 0;
  MPI_Type_size(*type, &size);
  ++g_operator_calls;
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

const Scenario kReduceLocal(
    "MpiReduceLocal.HasTheCallsOfItsOperatorInside",
    [](const Who&) {
      MPI_Op add;
      MPI_Op_create(add_and_ask, 1, &add);
      const int in = 2;
      int inout = 3;
      MPI_Reduce_local(&in, &inout, 1, MPI_INT, add);
      expect(inout == 5, "the sum");
      MPI_Op_free(&add);
    },
    [](const Who&) -> Lines {
      return {"MPI_Op_create", "MPI_Reduce_local | here bytes 4", "MPI_Type_size depth 1",
              "MPI_Op_free"};
    });

/// How often the operator is called is MPI's choice. The program's own books: it sends as many
/// bytes to itself.
const Scenario kOperator(
    "MpiAllreduce.HasTheCallsOfItsOperatorInside",
    [](const Who& me) {
      MPI_Op add;
      MPI_Op_create(add_and_ask, 1, &add);
      g_operator_calls = 0;
      int sum = 1;
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, add, MPI_COMM_WORLD);
      expect(sum == me.size, "the sum");
      MPI_Request request;
      int out = 1;
      MPI_Iallreduce(&out, &sum, 1, MPI_INT, add, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(sum == me.size, "the sum again");
      MPI_Op_free(&add);
      send_to_self(100 + g_operator_calls);
    },
    nullptr, {1, 2, 4},
    [](const Recorded& run) {
      int all_asked = 0;
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Lines& lines = run.lines(rank);
        const auto asked = static_cast<int>(
            std::count(lines.begin(), lines.end(), "MPI_Type_size depth 1"));
        const int moved = 4 * (run.rank_count() - 1);
        const int all = 4 * run.rank_count();
        Lines others = lines;
        std::erase(others, "MPI_Type_size depth 1");
        EXPECT_EQ(
            others,
            (Lines{
                "MPI_Op_create",
                text("MPI_Allreduce on world | coll #0 sent %d received %d", moved, moved),
                text("MPI_Iallreduce on world | icoll r1 #1 sent %d received %d", all, all),
                text("MPI_Wait | done r1 in world #1 sent %d received %d", all, all), "MPI_Op_free",
                text("MPI_Sendrecv on self | send to 0 tag 1 bytes %d; recv from 0 tag 1 bytes %d",
                     100 + asked, 100 + asked)}));
        all_asked += asked;
      }
      EXPECT_GE(all_asked, 2 * (run.rank_count() - 1));
    });

void ask_about_error(MPI_Comm* comm, int* error, ...) {
  int value = 0;
  MPI_Error_class(*error, &value);
  MPI_Comm_rank(*comm, &value);
  send_to_self(4);
}

const Scenario kErrorHandler(
    "MpiErrhandler.HasItsCallsInsideTheOneThatFailed",
    [](const Who& me) {
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(ask_about_error, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      int value = 0;
      expect(error_class(MPI_Send(&value, 1, MPI_INT, me.size, 1, MPI_COMM_WORLD)) == MPI_ERR_RANK,
             "wrong peer");
      MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
      MPI_Request request;
      MPI_Irecv(&value, 0, MPI_INT, me.previous(), 2, MPI_COMM_WORLD, &request);
      MPI_Send(&value, 1, MPI_INT, me.next(), 2, MPI_COMM_WORLD);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Errhandler_free(&handler);
    },
    [](const Who& me) -> Lines {
      const Lines inside = {"MPI_Error_class depth 1", "MPI_Comm_rank on world depth 1", kOfSelf};
      Lines lines = {"MPI_Comm_create_errhandler", "MPI_Comm_set_errhandler on world",
                     text("MPI_Send on world | error %d", MPI_ERR_RANK)};
      lines.insert(lines.end(), inside.begin(), inside.end());
      lines.push_back(text("MPI_Comm_call_errhandler on world {error_code %d}", MPI_ERR_OTHER));
      lines.insert(lines.end(), inside.begin(), inside.end());
      lines.push_back(text("MPI_Irecv on world | irecv r1 from %d tag 2 space 0", me.previous()));
      lines.push_back(text("MPI_Send on world | send to %d tag 2 bytes 4", me.next()));
      const int bytes = faults::is_mpich()
                            ? 0
                            : 4;  // MPICH does not tell the size of a truncated message
      lines.push_back(text("MPI_Waitall | received r1 in world from %d tag 2 bytes %d; error %d",
                           me.previous(), bytes, MPI_ERR_IN_STATUS));
      lines.insert(lines.end(), inside.begin(), inside.end());
      lines.insert(lines.end(), {"MPI_Comm_set_errhandler on world", "MPI_Errhandler_free"});
      return lines;
    },
    {2, 4});

/// MPI's file functions may be made of calls of MPI functions.
const Scenario kFile(
    "MpiFileOpen.DoesNotShowWhatMpiCallsOfItself",
    [](const Who& me) {
      MPI_File file;
      const int value = me.rank;
      const int rc = MPI_File_open(MPI_COMM_WORLD, "written", MPI_MODE_CREATE | MPI_MODE_RDWR,
                                   MPI_INFO_NULL, &file);
      expect(rc == MPI_SUCCESS, "the file");
      MPI_File_write_at_all(file, 4 * me.rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
    },
    [](const Who& me) -> Lines {
      return {"MPI_File_open on world | opened written",
              text("MPI_File_write_at_all on world | write written at %d all bytes 4", 4 * me.rank),
              "MPI_File_close on world | closed written"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  setenv("OMPI_MCA_io", "romio321",
         0);  // a component that is loaded when the first file is opened, and calls MPI
  return megascope::mpitest::run_main(argc, argv);
}
