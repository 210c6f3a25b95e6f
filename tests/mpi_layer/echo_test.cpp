#include "mpi_layer/fortran/intercept.h"
#include "mpi_layer/semantics/comm.h"
#include "mpi_layer/semantics/io.h"
#include "mpi_layer/semantics/local.h"
#include "mpi_layer/semantics/neighbor.h"
#include "mpi_layer/semantics/request.h"
#include "mpi_layer/semantics/rma.h"
#include "mpi_layer/semantics/spawn.h"
#include "mpi_layer/table/declared.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Every row of the table, in C and in Fortran, against a PMPI entry point that records what it
/// got: arguments and results go through unchanged, when nothing is recorded, and, where only entry
/// and exit are recorded, when it is. (All of them while they are recorded:
/// recorded_echo_test.cpp.)
namespace megascope::mpi {
namespace {

std::array<std::uint64_t, 32> g_got;
std::size_t g_got_count = 0;

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  static_assert(sizeof value <= sizeof word);
  std::memcpy(&word, &value, sizeof value);
  return word;
}
/// A value of the argument's own, different from all others.
template <class T>
T make(std::size_t index) {
  const std::uint64_t word = 0x7A00'0010'0000U + index * 0x10010U;
  T value{};
  std::memcpy(&value, &word, sizeof value);
  return value;
}
template <class... Args>
void write_down(Args... args) {
  g_got = {bits(args)...};
  g_got_count = sizeof...(args);
}

template <Fn F, class Pointer>
struct Echo;
template <Fn F, class Result, class... Args>
struct Echo<F, Result (*)(Args...)> {
  static Result fake(Args... args) {
    write_down(args...);
    return make<Result>(77);
  }
  static void check(Result (*wrapper)(Args...), const char* name) {
    check_with(wrapper, name, std::index_sequence_for<Args...>());
  }

 private:
  template <std::size_t... I>
  static void check_with(Result (*wrapper)(Args...), const char* name, std::index_sequence<I...>) {
    void* const pmpi = g_pmpi[static_cast<unsigned>(F)];
    g_pmpi[static_cast<unsigned>(F)] = reinterpret_cast<void*>(&fake);
    g_got = {};
    g_got_count = 99;
    const Result result = wrapper(make<Args>(I)...);
    EXPECT_EQ(bits(result), bits(make<Result>(77))) << name;
    EXPECT_EQ(g_got_count, sizeof...(Args)) << name;
    ((void)[&] { EXPECT_EQ(g_got[I], bits(make<Args>(I))) << name << ", argument " << I; }(), ...);
    g_pmpi[static_cast<unsigned>(F)] = pmpi;
  }
};

template <Fn F, class Check>
void where_plain(Check check) {
  if constexpr (requires { Semantics<F>::kSaysNothing; }) check();
}

/// Returns how many functions were checked.
std::size_t check_c(bool only_plain) {
  std::size_t count = 0;
#define MEGASCOPE_MPI(name, kind, parameters, arguments)                             \
  MEGASCOPE_WHERE_DECLARED(name, {                                                   \
    const auto check = [&count] {                                                    \
      ++count;                                                                       \
      Echo<Fn::name, PmpiType<Fn::name>::Pointer>::check(&MPI_##name, "MPI_" #name); \
    };                                                                               \
    if (only_plain)                                                                  \
      where_plain<Fn::name>(check);                                                  \
    else                                                                             \
      check();                                                                       \
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

/// A Fortran procedure of as many slots as its type has.
template <class Procedure>
struct FortranEcho;
template <class... Slots>
struct FortranEcho<void (*)(Slots...)> {
  static constexpr std::size_t kCount = sizeof...(Slots);
  static void fake(Slots... slots) { write_down(slots...); }
  /// error_at: the slot of ierror, which has to be an address of an integer.
  static void check(void (*wrapper)(Slots...), void** pmpi, std::size_t error_at,
                    const std::string& name) {
    check_with(wrapper, pmpi, error_at, name, std::index_sequence_for<Slots...>());
  }

 private:
  template <std::size_t... I>
  static void check_with(void (*wrapper)(Slots...), void** pmpi, std::size_t error_at,
                         const std::string& name, std::index_sequence<I...>) {
    static MPI_Fint error = MPI_SUCCESS;
    void* const before = *pmpi;
    *pmpi = reinterpret_cast<void*>(&fake);
    g_got = {};
    g_got_count = 99;
    const auto slot = [&](std::size_t index) {
      return index == error_at ? &error : make<void*>(index);
    };
    wrapper(static_cast<void*>(slot(I))...);
    EXPECT_EQ(g_got_count, kCount) << name;
    (
        (void)[&] {
          EXPECT_EQ(g_got[I], bits(static_cast<void*>(slot(I)))) << name << ", slot " << I;
        }(),
        ...);
    *pmpi = before;
  }
};

template <class Pointer>
struct ArgumentCount;
template <class Result, class... Args>
struct ArgumentCount<Result (*)(Args...)> {
  static constexpr std::size_t kValue = sizeof...(Args);
};

}  // namespace
}  // namespace megascope::mpi

// The procedures under test, by their symbols.
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments)                                   \
  MEGASCOPE_WHERE_DECLARED(name, extern "C" void echo_f_##lower slots __asm__("mpi_" #lower "_"); \
                           extern "C" void echo_bare_##lower slots __asm__("mpi_" #lower);        \
                           extern "C" void echo_double_##lower slots __asm__("mpi_" #lower "__"); \
                           extern "C" void echo_upper_##lower slots __asm__("MPI_" #upper);       \
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

void check_fortran(bool only_plain) {
  using fortran::Row;
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments)                            \
  MEGASCOPE_WHERE_DECLARED(name, {                                                         \
    const auto check = [] {                                                                \
      using Procedure = FortranEcho<decltype(&echo_f_##lower)>;                            \
      constexpr std::size_t kError = ArgumentCount<PmpiType<Fn::name>::Pointer>::kValue;   \
      void** const pmpi_table = fortran::g_pmpi[0] + static_cast<unsigned>(Row::lower##_); \
      void** const f08 = fortran::g_pmpi[1] + static_cast<unsigned>(Row::lower##_);        \
      Procedure::check(&echo_f_##lower, pmpi_table, kError, "mpi_" #lower "_");            \
      Procedure::check(&echo_bare_##lower, pmpi_table, kError, "mpi_" #lower);             \
      Procedure::check(&echo_double_##lower, pmpi_table, kError, "mpi_" #lower "__");      \
      Procedure::check(&echo_upper_##lower, pmpi_table, kError, "MPI_" #upper);            \
      Procedure::check(&echo_f08_##lower, f08, kError, "mpi_" #lower "_f08_");             \
    };                                                                                     \
    if (only_plain)                                                                        \
      where_plain<Fn::name>(check);                                                        \
    else                                                                                   \
      check();                                                                             \
  })
#include <fortran_coll.inc>
#include <fortran_comm.inc>
#include <fortran_io.inc>
#include <fortran_other.inc>
#include <fortran_p2p.inc>
#include <fortran_request.inc>
#include <fortran_rma.inc>
#undef MEGASCOPE_FORTRAN
}

TEST(Echo, EveryFunctionGetsItsArgumentsWhenNothingIsRecorded) {
  resolve_pmpi();
  EXPECT_EQ(check_c(false), kFnEnd - 1U - 5U) << "all but those that start and end everything";
  fortran::resolve_pmpi(Interface::kFortran);
  fortran::resolve_pmpi(Interface::kFortran08);
  check_fortran(false);
}

TEST(Echo, FunctionsOfEntryAndExitGetTheirArgumentsWhenTheyAreRecorded) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("echo-" + std::to_string(getpid()) + ".mgt");
  RecorderOptions options;
  options.path = path;
  options.size_bytes = std::uint64_t{64} << 20;
  static auto* const recorder = new Recorder(options);  // lives on, as in a program
  ASSERT_TRUE(recorder->open({}).is_ok());
  select_functions({"all"});
  fortran::refresh_selection();
  open_recording(*recorder, false);
  const std::size_t plain_functions = check_c(true);
  EXPECT_GT(plain_functions, 100U) << "recorded_echo_test.cpp has those that tell more";
  // The procedures have no PMPI entry points here, so the selection omits them: select them by
  // hand.
  for (auto& family : fortran::g_selected) {
    for (std::uint8_t& row : family) row = kRecords;
  }
  check_fortran(true);
  close_recording();
  EXPECT_TRUE(recorder->finish(EndState::kFinalized).is_ok());
  EXPECT_EQ(recorder->profile().rows().size(), plain_functions) << "each was recorded";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace megascope::mpi
