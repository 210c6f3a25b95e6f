#include "core/lifecycle/module_loader.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>

namespace megascope {

namespace {

/// Returns the path in a line of /proc/self/maps that covers the address; empty if it does not or
/// has no path.
std::string path_in(const std::string& line, std::uintptr_t address) {
  unsigned long long begin = 0;
  unsigned long long end = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) != 2 || address < begin ||
      address >= end)
    return {};
  const std::size_t slash = line.find('/');
  return slash == std::string::npos ? std::string() : line.substr(slash);
}

/// Returns the absolute path of the file mapped at an address. The kernel knows it also if the
/// loader got a relative path.
std::string mapped_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::string path = path_in(line, reinterpret_cast<std::uintptr_t>(address));
    if (!path.empty()) return path;
  }
  return {};
}

}  // namespace

Status load_module(const std::string& directory, const std::string& name,
                   const ModuleTable*& table) {
  // A relative path would be searched in the current directory, which another user may control.
  if (!directory.starts_with('/'))
    return Status::error("cannot load the module " + name +
                         ": the library's own directory is not known");
  const std::string path = directory + "/libmegascope_" + name + ".so";
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* reason = dlerror();
    return Status::error("cannot load the module " + name + ": " +
                         (reason != nullptr ? reason : path));
  }
  const std::string symbol = "megascope_module_" + name;
  using Entry = const ModuleTable* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, symbol.c_str()));
  if (entry == nullptr)
    return Status::error(path + " is not a MegaScope module: it has no " + symbol);
  table = entry();
  if (table == nullptr || table->build == nullptr || std::strcmp(table->build, kModuleBuild) != 0) {
    return Status::error(path + " comes from another build (" +
                         (table != nullptr && table->build != nullptr ? table->build : "?") +
                         ", this is " + kModuleBuild + ")");
  }
  return Status::ok();
}

std::string directory_of_code(const void* address) {
  std::string path = mapped_file(address);
  if (path.empty()) {  // /proc is not available
    Dl_info info{};
    char resolved[PATH_MAX];
    const bool is_absolute = dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
                             info.dli_fname[0] == '/';
    if (!is_absolute) return {};
    path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
  }
  return path.substr(0, path.rfind('/'));
}

}  // namespace megascope
