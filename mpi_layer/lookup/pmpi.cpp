#include "mpi_layer/lookup/pmpi.h"

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/c_symbol.h"
#include "mpi_layer/lookup/mpi_object.h"

#include <algorithm>
#include <dlfcn.h>
#include <mutex>

namespace megascope::mpi {
namespace {

template <Fn F, class Pointer>
struct FirstCall;
template <Fn F, class Result, class... Args>
struct FirstCall<F, Result (*)(Args...)> {
  static Result call(Args... args) {
    resolve_pmpi();
    return pmpi<F>()(args...);
  }
};

template <Fn F, class Result, class... Args>
struct FirstCall<F, Result (*)(Args..., ...)> {
  static Result call(Args... args, ...) {
    resolve_pmpi();
    return pmpi<F>()(args...);
  }
};

constexpr const char* kPmpiNames[] = {
    nullptr,
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, "PMPI_" #name, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

void* g_object = nullptr;  ///< dlopen handle of the object that defines PMPI_Init

int missing_pmpi(...) {
  return 1;  // No MPI error code fits. Unreachable: a program without an MPI library would not have
             // linked.
}

}  // namespace

bool g_passes_on = false;

void* g_pmpi[kFnEnd] = {
    nullptr,
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(                              \
      name, reinterpret_cast<void*>(&FirstCall<Fn::name, PmpiType<Fn::name>::Pointer>::call), )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

void resolve_pmpi() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    g_object = find_object_that_defines("PMPI_Init");
    for (unsigned fn = 1; fn < kFnEnd; ++fn) {
      void* symbol = g_object != nullptr ? dlsym(g_object, kPmpiNames[fn]) : nullptr;
      if (symbol == nullptr) symbol = dlsym(RTLD_NEXT, kPmpiNames[fn]);
      if (symbol == nullptr)
        symbol = dlsym(RTLD_NEXT, kPmpiNames[fn] + 1);  // MPI_x of the next library
      g_pmpi[fn] = symbol != nullptr ? symbol : reinterpret_cast<void*>(&missing_pmpi);
    }
  });
}

void* mpi_symbol(const char* name) noexcept {
  resolve_pmpi();
  // An executable may hold the library's data itself (copy relocation): search the global scope
  // first.
  void* symbol = dlsym(RTLD_DEFAULT, name);
  return symbol != nullptr || g_object == nullptr ? symbol : dlsym(g_object, name);
}

Status check_mpi_library() {
  if (resolve_handles()) return Status::ok();
  return Status::error("the program runs with \"" + mpi_library_version() +
                       "\", this MegaScope was built for " + built_for() + ": nothing is recorded");
}

std::string mpi_library_text() {
  char text[1 << 14] = "";  // may be longer than MPI_MAX_LIBRARY_VERSION_STRING in another MPI
                            // library (MPICH: 8192)
  int length = 0;
  pmpi<Fn::Get_library_version>()(text, &length);
  return text;
}

std::string mpi_library_version() {
  const std::string text = mpi_library_text();
  std::string line = text.substr(0, text.find_first_of("\n,"));
  std::replace(line.begin(), line.end(), '\t', ' ');
  line.erase(
      std::unique(line.begin(), line.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      line.end());
  constexpr std::string_view kLabel = " Version:";
  if (const std::size_t at = line.find(kLabel); at != std::string::npos)
    line.erase(at, kLabel.size());
  return line;
}

}  // namespace megascope::mpi
