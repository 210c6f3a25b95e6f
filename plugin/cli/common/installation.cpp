#include "plugin/cli/common/installation.h"

#include "core/config/options.h"

#include <filesystem>
#include <system_error>
#include <vector>

namespace megascope::cli {
namespace fs = std::filesystem;

std::string own_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

Status find_library_directory(std::string& directory) {
  const fs::path prefix = fs::path(own_path()).parent_path().parent_path();
  std::string tried;
  for (const char* name : {"lib", MEGASCOPE_INSTALL_LIBDIR, "lib64"}) {
    const fs::path candidate = prefix / name;
    std::error_code error;
    if (fs::exists(candidate / kLibraryName, error)) {
      directory = candidate.string();
      return Status::ok();
    }
    tried += (tried.empty() ? "" : ", ") + candidate.string();
  }
  return Status::error(std::string(kLibraryName) + " was not found in " + tried);
}

std::string page_path(const std::string& name) {
  const fs::path page = fs::path("docs") / name;
  const fs::path installed = fs::path(own_path()).parent_path().parent_path() /
                             MEGASCOPE_INSTALL_DOCDIR / page;
  std::error_code error;
  return fs::exists(installed, error) ? installed.string() : page.string();
}

std::vector<std::string> export_formats() {
  std::vector<std::string> formats;
  for (const config::ExportFormat& format : config::kExportFormats)
    formats.emplace_back(format.name);
  return formats;
}

}  // namespace megascope::cli
