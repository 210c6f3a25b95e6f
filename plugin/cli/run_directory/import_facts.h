#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// The repairs and notes of `megascope import`, stored with the run for later commands.
namespace megascope::cli {

inline constexpr char kImportFile[] = "import.json";  ///< in the run directory

struct ImportFacts {
  std::string format;  ///< as in `--from`; empty: the run was not imported
  std::uint64_t events = 0;
  /// Number of repairs by kind (importer::name_of); only kinds that occurred.
  std::map<std::string, std::uint64_t> repairs;
  std::vector<std::string> notes;  ///< sentences

  bool are_there() const { return !format.empty(); }
};

/// Writes kImportFile to the run directory.
Status write_import_facts(const std::string& directory, const importer::Timeline& timeline,
                          const std::string& format);
/// Reads kImportFile. Untrusted: unreadable fields stay empty.
ImportFacts read_import_facts(const std::string& directory);

}  // namespace megascope::cli
