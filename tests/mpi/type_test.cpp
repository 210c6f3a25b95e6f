#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Datatypes as they are made and asked about; codes of errors; what a program asks about MPI
/// itself.
namespace megascope::mpitest {
namespace {

const Scenario kMaking(
    "MpiTypeVector.AndOthersTellTheBytesOfTheType",
    [](const Who&) {
      const std::array<int, 2> lengths{1, 2};
      const std::array<int, 2> places{0, 3};
      const std::array<MPI_Aint, 2> addresses{0, 16};
      const std::array<MPI_Datatype, 2> parts{MPI_INT, MPI_DOUBLE};
      const int ten = 10;
      const int four = 4;
      const int two = 2;
      const int one = 1;
      const int block = MPI_DISTRIBUTE_BLOCK;
      const int whole = MPI_DISTRIBUTE_DFLT_DARG;
      std::array<MPI_Datatype, 12> types{};
      MPI_Type_contiguous(3, MPI_INT, types.data());
      MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &types[1]);
      MPI_Type_indexed(2, lengths.data(), places.data(), MPI_INT, &types[2]);
      MPI_Type_create_hindexed(2, lengths.data(), addresses.data(), MPI_INT, &types[3]);
      MPI_Type_create_hindexed_block(2, 2, addresses.data(), MPI_INT, &types[4]);
      MPI_Type_create_hvector(3, 1, 32, MPI_INT, &types[5]);
      MPI_Type_create_indexed_block(2, 2, places.data(), MPI_INT, &types[6]);
      MPI_Type_create_struct(2, lengths.data(), addresses.data(), parts.data(), &types[7]);
      MPI_Type_create_subarray(1, &ten, &four, &two, MPI_ORDER_C, MPI_INT, &types[8]);
      MPI_Type_create_darray(1, 0, 1, &ten, &block, &whole, &one, MPI_ORDER_C, MPI_INT, &types[9]);
      MPI_Type_create_resized(MPI_INT, 0, 32, &types[10]);
      MPI_Type_dup(MPI_INT, &types[11]);
      for (MPI_Datatype& type : types) MPI_Type_free(&type);
    },
    [](const Who&) -> Lines {
      Lines lines = {"MPI_Type_contiguous {type_bytes 12}",
                     "MPI_Type_vector {type_bytes 16}",
                     "MPI_Type_indexed {type_bytes 12}",
                     "MPI_Type_create_hindexed {type_bytes 12}",
                     "MPI_Type_create_hindexed_block {type_bytes 16}",
                     "MPI_Type_create_hvector {type_bytes 12}",
                     "MPI_Type_create_indexed_block {type_bytes 16}",
                     "MPI_Type_create_struct {type_bytes 20}",
                     "MPI_Type_create_subarray {type_bytes 16}",
                     "MPI_Type_create_darray {type_bytes 40}",
                     "MPI_Type_create_resized {type_bytes 4}",
                     "MPI_Type_dup {type_bytes 4}"};
      lines.insert(lines.end(), 12, "MPI_Type_free");
      return lines;
    });

#if !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION < 5
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void ignore_error(MPI_Comm*, int*, ...) {}

/// Functions that MPI-3.0 removed and that libraries still have.
const Scenario kRemoved(
    "MpiTypeStruct.AndOtherRemovedFunctionsAreRecorded",
    [](const Who&) {
      std::array<int, 2> lengths{1, 2};
      std::array<MPI_Aint, 2> addresses{0, 16};
      std::array<MPI_Datatype, 2> parts{MPI_INT, MPI_DOUBLE};
      std::array<MPI_Datatype, 3> types{};
      MPI_Type_hindexed(2, lengths.data(), addresses.data(), MPI_INT, types.data());
      MPI_Type_hvector(3, 1, 32, MPI_INT, &types[1]);
      MPI_Type_struct(2, lengths.data(), addresses.data(), parts.data(), &types[2]);
      MPI_Aint bounds[3] = {};
      MPI_Type_lb(types[1], &bounds[0]);
      MPI_Type_ub(types[1], &bounds[1]);
      MPI_Type_extent(types[1], &bounds[2]);
      expect(bounds[0] == 0 && bounds[1] == 68 && bounds[2] == 68, "the type's bounds");
      MPI_Aint address = 0;
      MPI_Address(lengths.data(), &address);
      expect(address == reinterpret_cast<MPI_Aint>(lengths.data()), "the address");
      MPI_Errhandler handler;
      MPI_Errhandler found;
      MPI_Errhandler_create(ignore_error, &handler);
      MPI_Errhandler_set(MPI_COMM_SELF, handler);
      MPI_Errhandler_get(MPI_COMM_SELF, &found);
      expect(found == handler, "the handler that was set");
      MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
      for (MPI_Datatype& type : types) MPI_Type_free(&type);
    },
    [](const Who&) -> Lines {
      return {"MPI_Type_hindexed {type_bytes 12}",
              "MPI_Type_hvector {type_bytes 12}",
              "MPI_Type_struct {type_bytes 20}",
              "MPI_Type_lb",
              "MPI_Type_ub",
              "MPI_Type_extent",
              "MPI_Address",
              "MPI_Errhandler_create",
              "MPI_Errhandler_set",
              "MPI_Errhandler_get",
              "MPI_Errhandler_set",
              "MPI_Type_free",
              "MPI_Type_free",
              "MPI_Type_free"};
    });
#pragma GCC diagnostic pop
#endif

const Scenario kMatching(
    "MpiTypeMatchSize.AndTypesOfFortranTellTheirBytes",
    [](const Who&) {
      MPI_Datatype type;
      MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
      MPI_Type_create_f90_real(15, 307, &type);
      MPI_Type_create_f90_complex(15, 307, &type);
      MPI_Type_create_f90_integer(9, &type);
    },
    [](const Who&) -> Lines {
      return {"MPI_Type_match_size {type_bytes 8}", "MPI_Type_create_f90_real {type_bytes 8}",
              "MPI_Type_create_f90_complex {type_bytes 16}",
              "MPI_Type_create_f90_integer {type_bytes 4}"};
    });

const Scenario kExtents(
    "MpiTypeGetExtent.TellsBoundAndExtent",
    [](const Who&) {
      MPI_Datatype type;
      MPI_Type_create_resized(MPI_INT, -4, 32, &type);
      MPI_Aint bound = 0;
      MPI_Aint extent = 0;
      MPI_Count long_bound = 0;
      MPI_Count long_extent = 0;
      MPI_Type_get_extent(type, &bound, &extent);
      MPI_Type_get_extent_x(type, &long_bound, &long_extent);
      expect(bound == -4 && long_extent == 32, "the type's bounds");
      MPI_Type_get_true_extent(type, &bound, &extent);
      MPI_Type_get_true_extent_x(type, &long_bound, &long_extent);
      expect(bound == 0 && long_extent == 4, "the data's bounds");
      MPI_Type_free(&type);
    },
    [](const Who&) -> Lines {
      return {"MPI_Type_create_resized {type_bytes 4}",
              "MPI_Type_get_extent {lower_bound -4, extent 32}",
              "MPI_Type_get_extent_x {lower_bound -4, extent 32}",
              "MPI_Type_get_true_extent {lower_bound 0, extent 4}",
              "MPI_Type_get_true_extent_x {lower_bound 0, extent 4}",
              "MPI_Type_free"};
    });

const Scenario kErrors(
    "MpiAddErrorClass.AndOthersTellTheirNumbers",
    [](const Who&) {
      int error_class = 0;
      int code = 0;
      MPI_Add_error_class(&error_class);
      MPI_Add_error_code(error_class, &code);
      MPI_Error_class(code, &code);
      expect(code == error_class, "the code's class");
      MPI_Error_class(MPI_ERR_TAG, &code);
    },
    [](const Who&) -> Lines {
      return {"MPI_Add_error_class {error_class e1}",
              "MPI_Add_error_code {error_class e1, error_code e2}",
              "MPI_Error_class {error_code e2, error_class e1}",
              text("MPI_Error_class {error_code %d, error_class %d}", MPI_ERR_TAG, MPI_ERR_TAG)};
    });

const Scenario kState(
    "MpiInitialized.AndFinalizedTellTheAnswer",
    [](const Who&) {
      int flag = -1;
      MPI_Initialized(&flag);
      expect(flag == 1, "between start and end");
      MPI_Finalized(&flag);
      expect(flag == 0, "not yet");
    },
    [](const Who&) -> Lines {
      return {"MPI_Initialized {flag 1}", "MPI_Finalized {flag 0}"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
