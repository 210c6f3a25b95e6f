#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/fortran/arguments.h"
#include "mpi_layer/fortran/pmpi.h"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

/// The body of the Fortran wrappers. A Fortran caller passes the address of each argument and of
/// ierror, then the lengths of CHARACTER arguments, each in one register or stack word; here all of
/// them are `void*`. They are passed to the pmpi procedure unchanged, except an ignored status, and
/// an ierror that `use mpi_f08` omitted, which are replaced.
namespace megascope::mpi::fortran {

template <Fn F>
inline constexpr bool kHasSemantics = !requires {
  Semantics<F>::kSaysNothing;
};

/// A Fortran wrapper of F. Signature: type of the C function.
template <Fn F, Row R, Interface I, class Signature>
struct Wrapper;

template <Fn F, Row R, Interface I, class... Args>
struct Wrapper<F, R, I, int (*)(Args...)> {
  static constexpr std::size_t kArguments = sizeof...(Args);
  static constexpr auto kInterface = static_cast<unsigned>(I);

  /// Jumps to record() or pass() by a tail call, like mpi::Wrapper::call(), so that both see the
  /// caller's return address.
  template <class... Slots>
  [[gnu::always_inline]] static void call(Slots... slots) {
    if ((t_thread->gate[kInterface] & selected()) != 0) [[likely]]
      return record(slots...);
    return pass(slots...);
  }

 private:
  static std::uint8_t selected() noexcept {
    return g_selected[family_of(I)][static_cast<unsigned>(R)];
  }

  template <class... Slots>
  [[gnu::noinline]] static void pass(Slots... slots) {
    if (pmpi<I, R, Slots...>() == nullptr) resolve_pmpi(I);
    const bool is_looked_at = selected() != 0 && recorder() != nullptr &&
                              enter_slow_path(I, selected());
    if (!is_looked_at) {
      constexpr unsigned kRow = static_cast<unsigned>(R);
      if (g_lacks_pmpi[family_of(I)][kRow] == 1) [[unlikely]]
        record_missing_pmpi(family_of(I), kRow);
      return pmpi<I, R, Slots...>()(slots...);
    }
    return record(slots...);
  }

  template <class... Slots>
  [[gnu::noinline]] static void record(Slots... slots) {
    MpiThread* thread = t_thread;
    Nesting nesting{.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))};
    CallRecord call;
    call.fn = F;
    call.index_base = 1;
    call.is_silent = is_silent<F>(*thread, I);
    if (!nest(*thread, call, nesting, __builtin_return_address(0))) [[unlikely]]
      return pmpi<I, R, Slots...>()(slots...);
    const std::array<void*, sizeof...(Slots)> passed{slots...};
    record_nested(*thread, call, nesting, __builtin_return_address(0), passed,
                  std::index_sequence_for<Args...>(),
                  std::make_index_sequence<sizeof...(Slots) - kArguments - 1>());
  }

  /// Returns the index of the length of argument `index`.
  static constexpr std::size_t length_slot(std::size_t index) {
    constexpr bool kTexts[] = {kIsText<Args>..., false};
    std::size_t slot = kArguments + 1;
    for (std::size_t i = 0; i < index; ++i) slot += kTexts[i] ? 1 : 0;
    return slot;
  }
  template <std::size_t Index, class Passed>
  [[gnu::always_inline]] static std::size_t length_of(const Passed& passed) noexcept {
    if constexpr (length_slot(Index) < std::tuple_size_v<Passed>) {
      return reinterpret_cast<std::size_t>(passed[length_slot(Index)]);
    }
    return 0;
  }

  template <class Passed, std::size_t... A, std::size_t... L>
  [[gnu::always_inline]] static void record_nested(MpiThread& thread, CallRecord& call,
                                                   const Nesting& nesting,
                                                   const void* return_address, const Passed& passed,
                                                   std::index_sequence<A...>,
                                                   std::index_sequence<L...>) {
    MPI_Fint own_error = MPI_SUCCESS;
    void* const error = passed[kArguments] != nullptr ? passed[kArguments] : &own_error;
    const auto pmpi_procedure = pmpi<
        I, R, decltype(static_cast<void>(A), static_cast<void*>(nullptr))..., void*,
        decltype(static_cast<void>(L), static_cast<void*>(nullptr))...>();
    read_entry<F>(thread, call);
    if constexpr (kHasSemantics<F>) {
      std::tuple<Argument<F, Args>...> arguments{
          Argument<F, Args>(thread, passed[A], length_of<A>(passed))...};
      Semantics<F>::describe(thread, call, std::get<A>(arguments).c()...);
      look_at_run<F>(thread, call, return_address);
      if (call.depth == 0) mark(*thread.buffer, call);
      enter_mpi(thread, call, nesting);
      pmpi_procedure(std::get<A>(arguments).passed()..., error, passed[kArguments + 1 + L]...);
      if (!leave_mpi(thread, nesting)) return;
      std::uint64_t leave_ticks = read_leave<F>(thread, call);
      const int rc = *static_cast<const MPI_Fint*>(error);
      if (rc == MPI_SUCCESS) (std::get<A>(arguments).returned(thread), ...);
      Semantics<F>::complete(thread, call, rc, std::get<A>(arguments).c()...);
      if (g_wants_call_sites) [[unlikely]]
        stage_call_site(thread, return_address);
      if (is_written_as_run<F>(thread, call, leave_ticks, rc)) return;
      finish(thread, call, leave_ticks, rc);
    } else {
      if (call.depth == 0) mark(*thread.buffer, call);
      enter_mpi(thread, call, nesting);
      pmpi_procedure(passed[A]..., error, passed[kArguments + 1 + L]...);
      if (!leave_mpi(thread, nesting)) return;
      const std::uint64_t leave_ticks = clock::ticks(thread.use_tsc);
      if (g_wants_call_sites) [[unlikely]]
        stage_call_site(thread, return_address);
      finish(thread, call, leave_ticks, *static_cast<const MPI_Fint*>(error));
    }
  }

  [[gnu::always_inline]] static void finish(MpiThread& thread, const CallRecord& call,
                                            std::uint64_t leave_ticks, int rc) noexcept {
    if (call.is_silent) [[unlikely]] {
      thread.staged_words = 0;
      return;
    }
    write_or_begin<F>(thread, call, leave_ticks, rc);
  }
};

}  // namespace megascope::mpi::fortran

/// Defines mpi_x_ with its other spellings, and mpi_x_f08_. The C name is the library's own, so
/// that no macro of mpi.h applies to it.
#define MEGASCOPE_FORTRAN_SYMBOL(function, symbol, name, lower, interface, slots, arguments) \
  extern "C" [[gnu::visibility("default")]] void function slots __asm__(symbol);             \
  extern "C" void function slots {                                                           \
    megascope::mpi::fortran::Wrapper<                                                        \
        megascope::mpi::Fn::name, megascope::mpi::fortran::Row::lower##_,                    \
        megascope::mpi::Interface::interface,                                                \
        megascope::mpi::PmpiType<megascope::mpi::Fn::name>::Pointer>::call arguments;        \
  }
#define MEGASCOPE_FORTRAN_ALIAS(result, function, symbol, target, slots) \
  extern "C"                                                             \
      [[gnu::visibility("default"), gnu::alias(target)]] result function slots __asm__(symbol);
#define MEGASCOPE_FORTRAN_ALIASES(result, lower, upper, slots)                                     \
  MEGASCOPE_FORTRAN_ALIAS(result, megascope_bare_##lower, "mpi_" #lower, "mpi_" #lower "_", slots) \
  MEGASCOPE_FORTRAN_ALIAS(result, megascope_double_##lower, "mpi_" #lower "__", "mpi_" #lower "_", \
                          slots)                                                                   \
  MEGASCOPE_FORTRAN_ALIAS(result, megascope_upper_##lower, "MPI_" #upper, "mpi_" #lower "_", slots)
#define MEGASCOPE_FORTRAN_WRAPPERS(name, lower, upper, slots, arguments)                          \
  MEGASCOPE_FORTRAN_SYMBOL(megascope_f_##lower, "mpi_" #lower "_", name, lower, kFortran, slots,  \
                           arguments)                                                             \
  MEGASCOPE_FORTRAN_SYMBOL(megascope_f08_##lower, "mpi_" #lower "_f08_", name, lower, kFortran08, \
                           slots, arguments)                                                      \
  MEGASCOPE_FORTRAN_ALIASES(void, lower, upper, slots)
