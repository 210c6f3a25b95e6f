#include "mpi_layer/fortran/pmpi.h"

#include "core/base/standard_error.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/fortran/handles.h"
#include "mpi_layer/lookup/mpi_object.h"
#include "mpi_layer/table/selection.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>

namespace megascope::mpi::fortran {

constinit void* g_pmpi[kFamilyCount][kRowEnd] = {};
constinit std::uint8_t g_selected[kFamilyCount][kRowEnd] = {};
constinit std::uint8_t g_lacks_pmpi[kFamilyCount][kRowEnd] = {};

namespace {

constexpr const char* kNames[] = {
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, "pmpi_" #lower, )
#include "mpi_layer/fortran/rows.inc"
#undef MEGASCOPE_FORTRAN
};
constexpr Fn kFunctions[] = {
#define MEGASCOPE_FORTRAN(name, lower, upper, slots, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, Fn::name, )
#include "mpi_layer/fortran/rows.inc"
#undef MEGASCOPE_FORTRAN
};
constexpr const char* kEndings[kFamilyCount] = {"_", "_f08_"};

std::mutex g_mutex;
std::atomic<bool> g_is_resolved[kFamilyCount];

/// Unreachable: a program that calls a procedure that no library defines would not have started
/// without this library.
void missing_pmpi() {
  standard_error::write("megascope: a Fortran MPI procedure was called that no library defines\n");
}

void resolve_row(unsigned family, unsigned row, void* object) {
  const std::string name = std::string(kNames[row]) + kEndings[family];
  void* symbol = object != nullptr ? dlsym(object, name.c_str()) : nullptr;
  if (symbol == nullptr) symbol = dlsym(RTLD_NEXT, name.c_str());
  if (symbol == nullptr) {
    symbol = dlsym(RTLD_NEXT, name.c_str() + 1);  // mpi_x_ of the next library
    std::atomic_ref(g_lacks_pmpi[family][row])
        .store(symbol != nullptr ? 1 : 0, std::memory_order_relaxed);
  }
  g_pmpi[family][row] = symbol != nullptr ? symbol : reinterpret_cast<void*>(&missing_pmpi);
}

void take_selection(unsigned family) {
  for (unsigned row = 0; row < kRowEnd; ++row) {
    const std::uint8_t selected = mpi::g_selected[static_cast<unsigned>(kFunctions[row])];
    std::atomic_ref(g_selected[family][row])
        .store(g_lacks_pmpi[family][row] != 0 ? std::uint8_t{0} : selected,
               std::memory_order_relaxed);
  }
}

}  // namespace

void resolve_pmpi(Interface interface) noexcept {
  const unsigned family = family_of(interface);
  if (g_is_resolved[family].load(std::memory_order_acquire)) return;
  const std::lock_guard lock(g_mutex);
  if (g_is_resolved[family].load(std::memory_order_relaxed)) return;
  const std::string init = std::string("pmpi_init") + kEndings[family];
  void* const object = find_object_that_defines(init.c_str());
  for (unsigned row = 0; row < kRowEnd; ++row) resolve_row(family, row, object);
  resolve_sentinels();
  take_selection(family);
  g_is_resolved[family].store(true, std::memory_order_release);
}

void refresh_selection() noexcept {
  const std::lock_guard lock(g_mutex);
  for (unsigned family = 0; family < kFamilyCount; ++family) {
    if (g_is_resolved[family].load(std::memory_order_relaxed)) take_selection(family);
  }
}

void record_missing_pmpi(unsigned family, unsigned row) noexcept {
  Recorder* const active = recorder();
  if (active == nullptr || mpi::g_selected[static_cast<unsigned>(kFunctions[row])] == 0) return;
  if (std::atomic_ref(g_lacks_pmpi[family][row]).exchange(2, std::memory_order_relaxed) != 1)
    return;
  active->note_unrecorded(std::string(kNames[row] + 1) + kEndings[family]);
}

}  // namespace megascope::mpi::fortran
