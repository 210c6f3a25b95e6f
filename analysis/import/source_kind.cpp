#include "analysis/import/source_kind.h"

#include "analysis/import/gzip_stream.h"

#include <algorithm>
#include <filesystem>
#include <istream>

namespace megascope::importer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLookedAtBytes = std::size_t{1} << 16;

std::string format_of_directory(const std::string& directory) {
  std::string format = "chrome";
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("benchmark-data-")) return "megascan";
    if (name.ends_with(".json") || name.ends_with(".json.gz")) format = "pytorch";
  }
  return format;
}

std::string format_of_file(const std::string& file) {
  GzipBuffer buffer(file);
  std::istream from(&buffer);
  std::string text(kLookedAtBytes, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(from.gcount(), 0)));
  for (const char* word : {"\"schemaVersion\"", "\"distributedInfo\"", "\"deviceProperties\"",
                           "\"baseTimeNanoseconds\"", "\"CPU functions\""}) {
    if (text.find(word) != std::string::npos) return "pytorch";
  }
  return "chrome";
}

}  // namespace

std::string format_of(const std::vector<std::string>& sources) {
  if (sources.size() != 1) return "pytorch";
  std::error_code error;
  return fs::is_directory(sources.front(), error) ? format_of_directory(sources.front())
                                                  : format_of_file(sources.front());
}

}  // namespace megascope::importer
