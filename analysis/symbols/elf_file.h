#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::symbols {

/// A program, library or debug information file (ELF, 64 bits, little endian), mapped read-only.
/// Queries on other or damaged files return empty results. One thread at a time.
class ElfFile {
 public:
  ElfFile() = default;
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Opens a file; call once. Returns false if it cannot be read or is not such an ELF file.
  bool open(const std::string& path);

  /// Returns the time of the last modification of the file, in ns since the epoch.
  std::int64_t written_ns() const { return written_ns_; }
  /// Returns the build id in hexadecimal; empty if there is none.
  std::string build_id() const;
  /// Returns the name of the separate debug information file (.gnu_debuglink); empty if there is
  /// none.
  std::string debug_link() const;
  bool has_section(std::string_view name) const;
  /// Returns the symbol of the function that contains an address; empty if there is none. address:
  /// as in the file, without the load offset. The view is valid as long as the object.
  std::string_view function_at(std::uint64_t address);

 private:
  struct Section {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint32_t linked = 0;  ///< index of another section
    std::span<const std::byte> bytes;
  };
  struct Function {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::string_view name;
  };

  std::span<const std::byte> part(std::uint64_t offset, std::uint64_t size) const;
  bool read_sections();
  void read_functions(std::uint32_t type);
  const Section* section(std::string_view name) const;

  std::span<const std::byte> bytes_;
  std::int64_t written_ns_ = 0;
  std::vector<Section> sections_;
  std::vector<Function> functions_;  ///< ascending address
  bool has_functions_ = false;       ///< functions_ has been read
};

}  // namespace megascope::symbols
