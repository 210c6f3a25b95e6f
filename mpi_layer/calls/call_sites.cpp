#include "mpi_layer/calls/call_sites.h"

#include "core/base/never_destroyed.h"
#include "mpi_layer/calls/no_memory.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <mutex>
#include <unistd.h>
#include <unordered_map>

namespace megascope::mpi {

constinit bool g_wants_call_sites = false;

namespace {

std::mutex g_mutex;
std::unordered_map<std::uintptr_t, std::uint32_t>& known_sites() {
  static NeverDestroyed<std::unordered_map<std::uintptr_t, std::uint32_t>> map;
  return *map;
}

/// Makes a path absolute: libraries may be known by a path relative to the directory at load time.
std::string whole_path(const char* name) {
  char path[PATH_MAX];
  return name[0] != '/' && realpath(name, path) != nullptr ? path : name;
}

std::string executable() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string name = length > 0 ? std::string(path, static_cast<std::size_t>(length))
                                : std::string();
  constexpr std::string_view
      kDeleted = " (deleted)";  // a file that is there now differs by its build id
  if (name.ends_with(kDeleted) && access(name.c_str(), F_OK) != 0)
    name.resize(name.size() - kDeleted.size());
  return name;
}

/// The module of an address, during the visit of all modules.
struct WantedModule {
  std::uintptr_t address = 0;
  std::string build_id;
};

bool contains(const dl_phdr_info& module, std::uintptr_t address) {
  for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - (module.dlpi_addr + part.p_vaddr) < part.p_memsz)
      return true;
  }
  return false;
}

/// Returns the build id in hexadecimal; empty if no note has one.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  ElfW(Nhdr) note;
  while (size >= sizeof note) {
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) / 4 * 4;
    const std::size_t whole = sizeof note + name_bytes + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    if (whole > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + sizeof note, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        const unsigned char byte = notes[sizeof note + name_bytes + i];
        text += {kDigits[byte >> 4], kDigits[byte & 15]};
      }
      return text;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

int look_for_build_id(dl_phdr_info* module, std::size_t, void* to) {
  auto& wanted = *static_cast<WantedModule*>(to);
  if (!contains(*module, wanted.address)) return 0;
  for (unsigned i = 0; i < module->dlpi_phnum && wanted.build_id.empty(); ++i) {
    const ElfW(Phdr)& part = module->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put it
    const auto* notes = reinterpret_cast<const unsigned char*>(module->dlpi_addr + part.p_vaddr);
    wanted.build_id = or_nothing([&] {
      return build_id_in(notes, part.p_memsz);
    });  // nothing may be thrown through the loader
  }
  return 1;
}

CallSiteDefinition describe(std::uintptr_t return_address, std::uint32_t id) {
  CallSiteDefinition site{.id = id,
                          .module = {},
                          .offset = return_address,
                          .function = {},
                          .file = {},
                          .line = 0,
                          .build_id = {}};
  Dl_info info{};
  link_map* map = nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the last byte of the call
  if (dladdr1(reinterpret_cast<void*>(return_address - 1), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0) {
    return site;
  }
  site.offset = return_address - map->l_addr;
  site.module = map->l_name != nullptr && map->l_name[0] != '\0' ? whole_path(map->l_name)
                                                                 : executable();
  if (info.dli_sname != nullptr) site.function = info.dli_sname;
  WantedModule wanted{.address = return_address - 1, .build_id = {}};
  dl_iterate_phdr(&look_for_build_id, &wanted);
  site.build_id = std::move(wanted.build_id);
  return site;
}

}  // namespace

namespace {

std::uint32_t learn_site(std::uintptr_t return_address) {
  const std::lock_guard lock(g_mutex);
  if (const auto known = known_sites().find(return_address); known != known_sites().end())
    return known->second;
  const auto id = static_cast<std::uint32_t>(known_sites().size());
  const auto added = known_sites().emplace(return_address, id).first;
  Recorder* const active = recorder();
  const bool is_defined = active == nullptr ||
                          or_nothing([&] { return active->define(describe(return_address, id)); });
  if (is_defined) return id;
  known_sites().erase(added);
  return kNoCallSite;
}

}  // namespace

std::uint32_t call_site_slow_path(MpiThread& thread, std::uintptr_t return_address) noexcept {
  std::uint32_t id = kNoCallSite;
  or_nothing([&] { id = learn_site(return_address); });
  if (id != kNoCallSite)
    thread.caches.sites[(return_address ^ return_address >> 6) % ThreadCaches::kSiteSlots] = {
        return_address, id};
  return id;
}

}  // namespace megascope::mpi
