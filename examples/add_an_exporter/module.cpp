#include "core/lifecycle/export_job.h"
#include "examples/add_an_exporter/export.h"

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_calls_csv() {
  static constexpr megascope::ModuleTable table{.build = megascope::kModuleBuild,
                                                .run_export = megascope::calls_csv::run_export};
  return &table;
}
