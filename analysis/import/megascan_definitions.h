#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/timeline.h"
#include "core/base/status.h"

namespace megascope::importer {

/// Reads from one file the rows that `megascope export --format megascan` writes in addition to
/// MegaScan's own rows. These are definitions of the worker's process, regions and communicators,
/// and the messages and collectives of operations. The input is untrusted: errors state what is
/// wrong with the row. timeline: must outlive the object.
class MegascanDefinitions {
 public:
  explicit MegascanDefinitions(Timeline& timeline) : timeline_(timeline) {}

  /// Adds a row that is not the begin or end of an operation. MegaScan's own rows are ignored.
  Status add(const JsonEvent& row);
  /// Returns whether the file contains such definitions.
  bool are_specified() const { return index_ != kUnknown; }
  /// Returns the index in Timeline::definitions; kUnknown if the row "process" has not been read.
  std::int32_t index() const { return index_; }
  /// Returns the name of the stream to which operations belong that do not name a stream.
  const std::string& main_stream() const { return main_stream_; }
  /// Reads messages and collectives from the end of an operation. Call only if are_specified().
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
