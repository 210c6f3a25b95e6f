#include "core/lifecycle/export_job.h"
#include "exporters/otf2/export.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_otf2() {
  static constexpr megascope::ModuleTable table{.build = megascope::kModuleBuild,
                                                .run_export = megascope::otf2::run_export};
  return &table;
}
