#include "mpi_layer/lookup/mpi_object.h"

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

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
  // dlsym also searches dependencies: only the defining object counts.
  if (symbol != nullptr && dladdr(symbol, &where) != 0 &&
      reinterpret_cast<ElfW(Addr)>(where.dli_fbase) == info->dlpi_addr) {
    search.object = object;
    return 1;
  }
  dlclose(object);
  return 0;
}

struct Need {
  const char* soname;
  bool is_found;
};

/// The loader has relocated the address of the string table.
int look_at_needs(dl_phdr_info* info, std::size_t, void* argument) {
  auto& need = *static_cast<Need*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* first = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr +
                                                           info->dlpi_phdr[i].p_vaddr);
    const char* names = nullptr;
    for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    for (const auto* entry = first; names != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && std::strcmp(names + entry->d_un.d_val, need.soname) == 0)
        need.is_found = true;
    }
  }
  return need.is_found ? 1 : 0;
}

}  // namespace

bool is_needed_by_an_object(const char* soname) noexcept {
  Need need{soname, false};
  dl_iterate_phdr(look_at_needs, &need);
  return need.is_found;
}

void* find_object_that_defines(const char* symbol) noexcept {
  Search search{symbol, nullptr};
  dl_iterate_phdr(look_into, &search);
  return search.object;
}

}  // namespace megascope::mpi
