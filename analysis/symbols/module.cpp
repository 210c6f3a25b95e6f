#include "analysis/symbols/resolve.h"
#include "core/lifecycle/export_job.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_symbols() {
  static constexpr megascope::ModuleTable table{
      .build = megascope::kModuleBuild,
      .resolve_call_sites = megascope::symbols::resolve_call_sites};
  return &table;
}
