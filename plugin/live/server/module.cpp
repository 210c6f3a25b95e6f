#include "core/lifecycle/export_job.h"
#include "plugin/live/server/service.h"

#include <new>

extern "C" __attribute__((visibility("default"))) const megascope::ModuleTable*
megascope_module_live() {
  static constexpr megascope::ModuleTable table{
      .build = megascope::kModuleBuild,
      .make_live_server = []() noexcept -> megascope::LiveServer* {
        return new (std::nothrow) megascope::live::Service;
      }};
  return &table;
}
