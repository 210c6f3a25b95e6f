#pragma once

#include "analysis/import/timeline.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace megascope::importer {

/// The open operations of one track. Finds the begin of an end. Begins and ends may be missing or
/// duplicated, and operations may overlap partially.
class OpenOperations {
 public:
  struct Open {
    Operation operation;
    std::int64_t begin_ns = 0;
    std::size_t event = 0;  ///< index of the begin event in the file
    bool is_copy = false;   ///< true: another operation with the same name and the same begin was
                            ///< open at the same time
  };
  enum class Found : std::uint8_t {
    kBegin,    ///< the begin was found; `ended` is the operation
    kCopy,     ///< the operation has already ended at this time, so this end is a duplicate
    kNothing,  ///< there is no begin for this end
  };

  void begin(const Operation& operation, std::int64_t begin_ns, std::size_t event);
  /// Ends the innermost open operation with this name.
  Found end(std::uint32_t name, std::int64_t end_ns, Open& ended);
  /// Ends the innermost open operation: for ends without a name.
  Found end(std::int64_t end_ns, Open& ended);
  /// Calls `take` for the operations that are still open, in order of begin.
  void take_rest(const std::function<void(const Open&)>& take);
  std::size_t count() const { return open_count_; }

 private:
  struct Slot {
    Open open;
    bool is_closed = false;
  };
  struct OfName {
    std::vector<std::size_t> slots;  ///< indices of open operations in slots_, ascending
    std::optional<std::int64_t> last_end_ns;
  };

  void close(std::size_t slot, std::int64_t end_ns, Open& ended);

  std::vector<Slot> slots_;
  std::unordered_map<std::uint32_t, OfName> names_;
  std::size_t open_count_ = 0;
};

}  // namespace megascope::importer
