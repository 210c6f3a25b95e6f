#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::symbols {

/// A program, library or file of debug information (ELF, 64 bits, little endian), read only. Of any
/// other file, and where it is damaged, nothing is known. One thread at a time.
class ElfFile {
 public:
  ElfFile() = default;
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Once. false: cannot be read, or is no such file.
  bool open(const std::string& path);

  /// When it was last written, ns since the epoch.
  std::int64_t written_ns() const { return written_ns_; }
  /// In hexadecimal; empty when it has none.
  std::string build_id() const;
  /// Name of the file that its debug information was moved to; empty when there is none.
  std::string debug_link() const;
  bool has_section(std::string_view name) const;
  /// Name of the function that covers an address as linked; empty when no symbol tells. Valid as
  /// long as the object.
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
  bool has_functions_ = false;       ///< they have been read
};

}  // namespace megascope::symbols
