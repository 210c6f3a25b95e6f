#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/timeline.h"
#include "core/base/status.h"

namespace megascope::importer {

/// What `megascope export --format megascan` writes beside what MegaScan does: rows that define the
/// worker's process, regions and communicators, and lists of what operations did. Of one file.
/// Untrusted: an error says what is wrong with the row.
class MegascanDefinitions {
 public:
  explicit MegascanDefinitions(Timeline& timeline) : timeline_(timeline) {}

  /// A row that is no operation's begin or end. Those of MegaScan itself define nothing.
  Status add(const JsonEvent& row);
  /// Does the file tell what operations did?
  bool are_specified() const { return index_ != kUnknown; }
  /// Of all operations before the row "process" and of files without one: kUnknown.
  std::int32_t index() const { return index_; }
  /// Name of the stream on which operations are that name none.
  const std::string& main_stream() const { return main_stream_; }
  /// What the end of an operation tells. Only where are_specified().
  Status report(const JsonEvent& row, Operation& operation);

 private:
  Status add_process(const JsonEvent& row);
  Status add_region(const JsonEvent& row);
  Status add_comm(const JsonEvent& row);
  Status add_messages(const JsonEvent& row, const char* key, FactKind kind);
  Status add_collectives(const JsonEvent& row);
  SpecifiedDefinitions& definitions() {
    return timeline_.definitions[static_cast<std::size_t>(index_)];
  }

  Timeline& timeline_;
  std::int32_t index_ = kUnknown;
  std::string main_stream_ = "device";
};

}  // namespace megascope::importer
