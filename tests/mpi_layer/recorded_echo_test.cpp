#include "mpi_layer/fortran/intercept.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/semantics/io.h"
#include "mpi_layer/semantics/local.h"
#include "mpi_layer/semantics/neighbor.h"
#include "mpi_layer/semantics/request.h"
#include "mpi_layer/semantics/rma.h"
#include "mpi_layer/semantics/spawn.h"
#include "mpi_layer/table/declared.h"
#include "tests/mpi_layer/echo_values.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Every row of the table, in C and in Fortran, while it is recorded, in a program with real
/// handles. The function alone is replaced by one that writes down what it got, and returns success
/// or an error. It must get each argument bit by bit, the caller must get its result, and nothing
/// of the caller's memory may change.
///
/// One exception: an ignored status. MPI is given one of ours, in memory that is not the caller's,
/// by functions that complete, receive, probe or transfer; and by no others.
namespace megascope::mpi {
namespace {

constexpr std::size_t kMaxArguments = 32;
std::array<std::uint64_t, kMaxArguments> g_got;
std::size_t g_got_count = 0;
int g_result = MPI_SUCCESS;
std::size_t g_replaced_count = 0;  ///< ignored statuses in whose place ours were given

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

constexpr std::size_t kNotCalled = 99;
template <class... Args>
void write_down(Args... args) {
  g_got = {bits(args)...};
  g_got_count = sizeof...(args);
}

constexpr bool replaces_status(Fn fn) {
  const Group group = group_of(fn);
  return group == Group::kP2p || group == Group::kRequest || group == Group::kIo;
}
bool is_callers(std::uint64_t address) {
  const auto begin = bits(echo::g_memory.places.data());
  return address >= begin && address < begin + sizeof echo::g_memory;
}

/// What the function got where the caller gave `given`.
void check_argument(Fn fn, std::size_t index, std::uint64_t given, bool is_ignored_status,
                    const std::string& name) {
  if (!is_ignored_status || !replaces_status(fn)) {
    EXPECT_EQ(g_got[index], given) << name << ", argument " << index;
    return;
  }
  ++g_replaced_count;
  EXPECT_NE(g_got[index], given) << name << ", status";
  EXPECT_NE(g_got[index], 0u) << name << ", status";
  EXPECT_FALSE(is_callers(g_got[index])) << name << ", status";
}

template <Fn F, class Pointer>
struct Echo;
template <Fn F, class Result, class... Args>
struct Echo<F, Result (*)(Args...)> {
  /// The first call is the caller's. What we ask MPI ourselves once that has succeeded may be the
  /// same function, and is answered.
  static Result fake(Args... args) {
    if (g_got_count != kNotCalled) return g_original(args...);
    write_down(args...);
    if constexpr (returns_value(F))
      return echo::value<Result>(20);
    else
      return g_result;
  }
  static void check(Result (*wrapper)(Args...), const char* name) {
    for (const bool ignores_status : {false, true}) {
      for (const int result : {MPI_SUCCESS, MPI_ERR_OTHER}) {
        g_result = result;
        check_with(wrapper, std::string(name) + (result == MPI_SUCCESS ? "" : ", failing"),
                   ignores_status, std::index_sequence_for<Args...>());
      }
    }
  }

 private:
  static inline Result (*g_original)(Args...) = nullptr;

  template <class T>
  static T given(std::size_t index, bool ignores_status) {
    if (std::is_same_v<T, MPI_Status*> && ignores_status)
      return T{};  // MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
    return echo::argument_for<T>(index);
  }
  template <std::size_t... I>
  static void check_with(Result (*wrapper)(Args...), const std::string& name,
                         [[maybe_unused]] bool ignores_status, std::index_sequence<I...>) {
    const std::tuple<Args...> arguments{given<Args>(I, ignores_status)...};
    const echo::Memory before = echo::g_memory;
    g_original = pmpi<F>();
    g_pmpi[static_cast<unsigned>(F)] = reinterpret_cast<void*>(&fake);
    g_got_count = kNotCalled;
    const Result result = wrapper(std::get<I>(arguments)...);
    g_pmpi[static_cast<unsigned>(F)] = reinterpret_cast<void*>(g_original);
    if constexpr (returns_value(F))
      EXPECT_EQ(bits(result), bits(echo::value<Result>(20))) << name;
    else
      EXPECT_EQ(result, g_result) << name;
    EXPECT_EQ(g_got_count, sizeof...(Args)) << name;
    (check_argument(F, I, bits(std::get<I>(arguments)),
                    std::is_same_v<Args, MPI_Status*> && ignores_status, name),
     ...);
    EXPECT_TRUE(echo::g_memory == before) << name << " changed the caller's memory";
  }
};

/// A Fortran procedure; its C function has the arguments `Args`, then come ierror and lengths of
/// texts.
template <Fn F, class Signature, class Procedure>
struct FortranEcho;
template <Fn F, class... Args, class... Slots>
struct FortranEcho<F, int (*)(Args...), void (*)(Slots...)> {
  static constexpr std::size_t kArguments = sizeof...(Args);
  static constexpr std::size_t kSlots = sizeof...(Slots);

  static void fake(Slots... slots) { write_down(slots...); }
  static void check(void (*wrapper)(Slots...), void** pmpi, const std::string& name) {
    for (const bool ignores_status : {false, true}) {
      for (const int result : {MPI_SUCCESS, MPI_ERR_OTHER}) {
        check_with(wrapper, pmpi, result, ignores_status, name, std::index_sequence_for<Args...>(),
                   std::index_sequence_for<Slots...>());
      }
    }
  }

 private:
  template <std::size_t... A, std::size_t... S>
  static void check_with(void (*wrapper)(Slots...), void** pmpi, MPI_Fint result,
                         bool ignores_status, const std::string& name, std::index_sequence<A...>,
                         std::index_sequence<S...>) {
    static MPI_Fint ignored[8];
    fortran::g_sentinels.status_ignore.assign({ignored, ignored, ignored, ignored});
    fortran::g_sentinels.statuses_ignore.assign({ignored, ignored, ignored, ignored});
    constexpr bool kIsStatus[] = {std::is_same_v<Args, MPI_Status*>..., false};
    std::array<void*, kSlots> slots{};
    ((slots[A] = kIsStatus[A] && ignores_status ? static_cast<void*>(ignored)
                                                : echo::slot_for<Args>(A)),
     ...);
    slots[kArguments] = &result;
    for (std::size_t i = kArguments + 1; i < kSlots; ++i)
      slots[i] = reinterpret_cast<void*>(std::uintptr_t{8});
    const echo::Memory before = echo::g_memory;
    const MPI_Fint result_before = result;
    void* const original = *pmpi;
    *pmpi = reinterpret_cast<void*>(&fake);
    g_got_count = kNotCalled;
    wrapper(slots[S]...);
    *pmpi = original;
    EXPECT_EQ(result, result_before) << name << ", ierror";
    EXPECT_EQ(g_got_count, kSlots) << name;
    for (std::size_t i = 0; i < kSlots; ++i) {
      check_argument(F, i, bits(slots[i]), i < kArguments && kIsStatus[i] && ignores_status, name);
    }
    EXPECT_TRUE(echo::g_memory == before) << name << " changed the caller's memory";
  }
};

std::size_t check_c() {
  std::size_t count = 0;
#define MEGASCOPE_MPI(name, kind, parameters, arguments)                           \
  MEGASCOPE_WHERE_DECLARED(name, {                                                 \
    ++count;                                                                       \
    Echo<Fn::name, PmpiType<Fn::name>::Pointer>::check(&MPI_##name, "MPI_" #name); \
  })
#include "mpi_layer/table/coll.inc"
#include "mpi_layer/table/comm.inc"
#include "mpi_layer/table/convert.inc"
#include "mpi_layer/table/io.inc"
#include "mpi_layer/table/other.inc"
#include "mpi_layer/table/p2p.inc"
#include "mpi_layer/table/request.inc"
#include "mpi_layer/table/rma.inc"
#include "mpi_layer/table/tool.inc"
#undef MEGASCOPE_MPI
  return count;
}

}  // namespace
}  // namespace megascope::mpi

// The procedures under test, by their symbols.
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments)                                   \
  MEGASCOPE_WHERE_DECLARED(name, extern "C" void echo_f_##lower slots __asm__("mpi_" #lower "_"); \
                           extern "C" void echo_f08_##lower slots __asm__("mpi_" #lower "_f08_");)
#include <fortran_coll.inc>
#include <fortran_comm.inc>
#include <fortran_io.inc>
#include <fortran_other.inc>
#include <fortran_p2p.inc>
#include <fortran_request.inc>
#include <fortran_rma.inc>
#undef MEGASCOPE_FORTRAN

namespace megascope::mpi {
namespace {

std::size_t check_fortran() {
  using fortran::Row;
  std::size_t count = 0;
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments)                            \
  MEGASCOPE_WHERE_DECLARED(name, {                                                         \
    using Procedure = FortranEcho<Fn::name, PmpiType<Fn::name>::Pointer,                   \
                                  decltype(&echo_f_##lower)>;                              \
    ++count;                                                                               \
    constexpr auto kRow = static_cast<unsigned>(Row::lower##_);                            \
    Procedure::check(&echo_f_##lower, fortran::g_pmpi[0] + kRow, "mpi_" #lower "_");       \
    Procedure::check(&echo_f08_##lower, fortran::g_pmpi[1] + kRow, "mpi_" #lower "_f08_"); \
  })
#include <fortran_coll.inc>
#include <fortran_comm.inc>
#include <fortran_io.inc>
#include <fortran_other.inc>
#include <fortran_p2p.inc>
#include <fortran_request.inc>
#include <fortran_rma.inc>
#undef MEGASCOPE_FORTRAN
  return count;
}

TEST(RecordedEcho, EveryFunctionGetsItsArgumentsAndTouchesNothingElse) {
  ASSERT_EQ(PMPI_Init(nullptr, nullptr), MPI_SUCCESS);
  echo::set_up();
  resolve_pmpi();
  ASSERT_TRUE(resolve_handles());
  const std::string path = std::filesystem::temp_directory_path() /
                           ("recorded-echo-" + std::to_string(getpid()) + ".mgt");
  RecorderOptions options;
  options.path = path;
  options.size_bytes = std::uint64_t{64} << 20;
  auto* recorder = new Recorder(options);  // lives on, as in a program
  ASSERT_TRUE(recorder->open({}).is_ok());
  select_functions({"all"});
  fortran::refresh_selection();
  open_recording(*recorder, false);
  define_predefined_comms();

  const std::size_t function_count = check_c();
  EXPECT_EQ(function_count, kFnEnd - 1U - 5U) << "all but those that start and end everything";
  EXPECT_GT(g_replaced_count, 0u);

  fortran::resolve_pmpi(Interface::kFortran);
  fortran::resolve_pmpi(Interface::kFortran08);
  for (auto& family :
       fortran::g_selected) {  // no Fortran library is linked, so the selection passes them over
    for (std::uint8_t& row : family) row = kRecords;
  }
  EXPECT_GT(check_fortran(), 290U);

  close_recording();
  EXPECT_TRUE(recorder->finish(EndState::kFinalized).is_ok());
  std::set<RegionId> recorded;
  for (const ProfileRow& row : recorder->profile().rows()) recorded.insert(row.key.region);
  EXPECT_EQ(recorded.size(), function_count) << "each was recorded";
  std::filesystem::remove(path);
  echo::tear_down();
  PMPI_Finalize();
}

}  // namespace

namespace echo {

std::string file_path() {
  return std::filesystem::temp_directory_path() / ("recorded-echo-" + std::to_string(getpid()));
}

void set_up() {
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  PMPI_Comm_dup(MPI_COMM_SELF, &g_objects.comm);
  PMPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &g_objects.window);
  PMPI_Win_set_errhandler(g_objects.window, MPI_ERRORS_RETURN);
  PMPI_File_open(MPI_COMM_SELF, file_path().c_str(),
                 MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                 &g_objects.file);
  PMPI_Comm_group(MPI_COMM_WORLD, &g_objects.group);
}

void tear_down() {
  PMPI_Group_free(&g_objects.group);
  PMPI_File_close(&g_objects.file);
  PMPI_Win_free(&g_objects.window);
  PMPI_Comm_free(&g_objects.comm);
}

}  // namespace echo
}  // namespace megascope::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
