#include "core/lifecycle/export_job.h"
#include "exporters/perfetto/export.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_perfetto() {
  static constexpr megascope::ModuleTable table{.build = megascope::kModuleBuild,
                                                .run_export = megascope::perfetto::run_export};
  return &table;
}
