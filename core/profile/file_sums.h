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

/// Sums over the calls on files of one name. Times are in the unit of the calls that were added.
struct FileTotals {
  std::uint64_t opens = 0;
  std::uint64_t reads = 0;  ///< reads that were started
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;  ///< bytes that were transferred
  std::uint64_t bytes_written = 0;
  std::uint64_t time = 0;  ///< time of calls that concern this file only

  void add(const FileTotals& other);
  bool operator==(const FileTotals&) const = default;
};

/// File statistics of one process, by the name under which files were opened. Bounded: names beyond
/// kMaxNames share one row. One thread at a time.
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

  /// Announces a file. Call in order of ascending id. Costs a look-up for a known name.
  void define(const FileDefinition& file);
  /// Returns the row of a file. Returns the shared row if the file was not announced, or if
  /// kMaxNames other names had a row already. Valid until the next define() or merge().
  Row& row(FileId file) { return rows_[file < by_id_.size() ? by_id_[file] : kOthers]; }

  /// Adds the sums of another object of the same process.
  void merge(const FileSums& other);

  /// Returns the totals of a name; nullptr if it has no row.
  const FileTotals* find(std::string_view name) const;
  /// Returns the totals of names without a row; nullptr if there are none.
  const FileTotals* others() const {
    return rows_[kOthers].is_used ? &rows_[kOthers].totals : nullptr;
  }

  void serialize(WireWriter& to) const;
  /// Replaces the sums by those that it reads. from.is_ok() is false after an error.
  void parse(WireReader& from);
  /// Copies the mapping of file ids to names.
  void adopt_definitions(const FileSums& from);

 private:
  static constexpr std::uint32_t kOthers = 0;
  std::uint32_t index_of(std::uint64_t key);

  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
  std::vector<std::uint32_t> by_id_;  ///< index of the row, by FileId
};

}  // namespace megascope
