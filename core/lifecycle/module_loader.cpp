#include "core/lifecycle/module_loader.h"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace megascope {

Status load_module(const std::string& folder, const std::string& name, const ModuleTable*& table) {
  const std::string path = folder + "/libmegascope_" + name + ".so";
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* reason = dlerror();
    return Status::error("cannot load the module " + name + ": " + (reason != nullptr ? reason : path));
  }
  const std::string symbol = "megascope_module_" + name;
  using Entry = const ModuleTable* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, symbol.c_str()));
  if (entry == nullptr) return Status::error(path + " is not a MegaScope module: it has no " + symbol);
  table = entry();
  if (table == nullptr || table->build == nullptr || std::strcmp(table->build, kModuleBuild) != 0) {
    return Status::error(path + " comes from another build (" + (table != nullptr && table->build != nullptr ? table->build : "?") +
                         ", this is " + kModuleBuild + ")");
  }
  return Status::ok();
}

std::string folder_of_code(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  char resolved[PATH_MAX];
  const char* path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
  const std::string whole(path);
  const std::size_t slash = whole.rfind('/');
  return slash == std::string::npos ? std::string(".") : whole.substr(0, slash);
}

}  // namespace megascope
