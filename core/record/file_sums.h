#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Sums over calls, as CallTotals: times in the unit of the calls that were added.
struct FileTotals {
  std::uint64_t opens = 0;
  std::uint64_t reads = 0;  ///< started
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;  ///< transferred
  std::uint64_t bytes_written = 0;
  std::uint64_t time = 0;  ///< of calls that are about this file alone

  void add(const FileTotals& other);
  bool operator==(const FileTotals&) const = default;
};

/// What one process did with files, by the name under which it opened them. Of bounded size: names
/// beyond kMaxNames share a row. One thread at a time.
class FileSums {
 public:
  static constexpr std::size_t kMaxNames = 1024;

  struct Row {
    std::uint64_t key = 0;  ///< hash of the name
    FileTotals totals;
    bool is_used = false;

    void note(const Fact& fact);
  };

  FileSums() : rows_(1) {}

  /// Ascending id. Known names cost a look-up.
  void define(const FileDefinition& file);
  /// Of a file that was not defined: that of the names which found no room. Valid until the next
  /// define() or merge().
  Row& row(FileId file) { return rows_[file < by_id_.size() ? by_id_[file] : kOthers]; }

  /// Of the same process.
  void merge(const FileSums& other);

  /// Totals under a name; nullptr when there are none of its own.
  const FileTotals* find(std::string_view name) const;
  /// Of names that have no row; nullptr when there was nothing.
  const FileTotals* others() const {
    return rows_[kOthers].is_used ? &rows_[kOthers].totals : nullptr;
  }

  void serialize(WireWriter& to) const;
  /// Replaces the sums. Faults are left in the reader.
  void parse(WireReader& from);
  /// Takes over which ids mean which names.
  void adopt_definitions(const FileSums& from);

 private:
  static constexpr std::uint32_t kOthers = 0;
  std::uint32_t index_of(std::uint64_t key);

  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::vector<std::uint32_t> by_id_;  ///< index of the row, by FileId
};

}  // namespace megascope
