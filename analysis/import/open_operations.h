#pragma once

#include "analysis/import/timeline.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace megascope::importer {

/// Operations of one track that began and have not ended: which begin an end belongs to, where some
/// of either are missing, doubled or overlap in part.
class OpenOperations {
 public:
  struct Open {
    Operation operation;
    std::int64_t begin_ns = 0;
    std::size_t event = 0;  ///< its begin, in the file
    bool
        is_copy = false;  ///< another of the same name that began at the same time was open with it
  };
  enum class Found : std::uint8_t {
    kBegin,    ///< ended is the operation
    kCopy,     ///< the operation ended at this time already: the end is in the file twice
    kNothing,  ///< no begin belongs to it
  };

  void begin(const Operation& operation, std::int64_t begin_ns, std::size_t event);
  /// An end of the innermost open operation of this name.
  Found end(std::uint32_t name, std::int64_t end_ns, Open& ended);
  /// An end that does not say of what: of the innermost open operation.
  Found end(std::int64_t end_ns, Open& ended);
  /// Takes what is open still, in order of begin.
  void take_rest(const std::function<void(const Open&)>& take);
  std::size_t count() const { return open_count_; }

 private:
  struct Slot {
    Open open;
    bool is_closed = false;
  };
  struct OfName {
    std::vector<std::size_t> slots;  ///< in slots_: the open ones, ascending
    std::optional<std::int64_t> last_end_ns;
  };

  void close(std::size_t slot, std::int64_t end_ns, Open& ended);

  std::vector<Slot> slots_;
  std::unordered_map<std::uint32_t, OfName> names_;
  std::size_t open_count_ = 0;
};

}  // namespace megascope::importer
