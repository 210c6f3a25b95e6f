#include "mpi_layer/call_sites.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <mutex>
#include <unordered_map>

namespace megascope::mpi {

constinit bool g_wants_call_sites = false;

namespace {

std::mutex g_mutex;
std::unordered_map<std::uintptr_t, std::uint32_t>& known_sites() {
  static auto* const map = new std::unordered_map<std::uintptr_t, std::uint32_t>;
  return *map;
}

std::string executable() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

CallSiteDefinition describe(std::uintptr_t return_address, std::uint32_t id) {
  CallSiteDefinition site{.id = id, .module = {}, .offset = return_address, .function = {}, .file = {}, .line = 0};
  Dl_info info{};
  link_map* map = nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the last byte of the call
  if (dladdr1(reinterpret_cast<void*>(return_address - 1), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return site;
  }
  site.offset = return_address - map->l_addr;
  site.module = map->l_name != nullptr && map->l_name[0] != '\0' ? map->l_name : executable();
  if (info.dli_sname != nullptr) site.function = info.dli_sname;
  return site;
}

}  // namespace

std::uint32_t call_site_slowly(MpiThread& thread, std::uintptr_t return_address) noexcept {
  const std::lock_guard lock(g_mutex);
  const auto [found, is_new] = known_sites().emplace(return_address, static_cast<std::uint32_t>(known_sites().size()));
  if (is_new) {
    if (Recorder* active = recorder()) active->define(describe(return_address, found->second));
  }
  thread.sites[(return_address ^ return_address >> 6) % MpiThread::kSiteSlots] = {return_address, found->second};
  return found->second;
}

}  // namespace megascope::mpi
