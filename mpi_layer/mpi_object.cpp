#include "mpi_layer/mpi_object.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

namespace megascope::mpi {
namespace {

struct Search {
  const char* symbol;
  void* object;
};

int look_into(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
  void* object = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return 0;
  Dl_info where{};
  void* symbol = dlsym(object, search.symbol);
  // dlsym also searches what the object depends on: only the definer counts.
  if (symbol != nullptr && dladdr(symbol, &where) != 0 &&
      reinterpret_cast<ElfW(Addr)>(where.dli_fbase) == info->dlpi_addr) {
    search.object = object;
    return 1;
  }
  dlclose(object);
  return 0;
}

}  // namespace

void* find_object_that_defines(const char* symbol) noexcept {
  Search search{symbol, nullptr};
  dl_iterate_phdr(look_into, &search);
  return search.object;
}

}  // namespace megascope::mpi
