#include "core/lifecycle/export_job.h"
#include "exporters/chrome/export.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_chrome() {
  static constexpr megascope::ModuleTable table{.build = megascope::kModuleBuild,
                                                .run_export = megascope::chrome::run_export};
  return &table;
}
