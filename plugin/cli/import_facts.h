#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// What `megascope import` did to a timeline, kept with the run for whoever reads it later.
namespace megascope::cli {

inline constexpr char kImportFile[] = "import.json";  ///< in the run directory

struct ImportFacts {
  std::string format;  ///< as `--from` names it; empty: the run was not imported
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t>
      repairs;                     ///< by kind (importer::name_of); those that there are
  std::vector<std::string> notes;  ///< sentences

  bool are_there() const { return !format.empty(); }
};

Status write_import_facts(const std::string& folder, const importer::Timeline& timeline,
                          const std::string& format);
/// Untrusted: what cannot be read is empty.
ImportFacts read_import_facts(const std::string& folder);

}  // namespace megascope::cli
