#include "core/lifecycle/locate_call_sites.h"

#include "core/lifecycle/module_loader.h"

namespace megascope {

void locate_call_sites(const std::string& directory, std::span<CallSiteDefinition* const> sites,
                       std::int64_t run_start_ns, std::vector<std::string>& notes) {
  if (sites.empty()) return;
  const ModuleTable* module = nullptr;
  const Status status = load_module(directory, "symbols", module);
  if (status.is_ok() && module->resolve_call_sites != nullptr) {
    module->resolve_call_sites(sites, run_start_ns, notes);
  } else {
    notes.push_back("call sites are not resolved to lines: " + status.message());
  }
}

}  // namespace megascope
