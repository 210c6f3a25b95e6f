#include "core/lifecycle/export_job.h"
#include "exporters/megascan/export.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_megascan() {
  static constexpr megascope::ModuleTable table{.build = megascope::kModuleBuild,
                                                .run_export = megascope::megascan::run_export};
  return &table;
}
