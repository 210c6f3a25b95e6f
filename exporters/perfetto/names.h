#pragma once

#include "core/record/definitions.h"
#include "exporters/common/call_arguments.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::perfetto {

/// The strings of one process to which packets refer by interning id (iid). Event names,
/// categories, argument names and string values have separate ids, each from 1 on.
class Names {
 public:
  /// Interning ids of a region's name and category.
  struct Region {
    std::uint32_t name;
    std::uint32_t category;
  };

  explicit Names(const ProcessDefinitions& process);

  /// Content of the InternedData message that defines all strings.
  const std::string& interned() const { return interned_; }
  /// The following three are the first unused iids of event names, of argument names, and of
  /// categories.
  std::uint64_t first_free_name() const { return first_free_name_; }
  static constexpr std::uint64_t kFirstFreeArgument = timeline::kArgumentNameCount + 1;
  std::uint64_t first_free_category() const { return first_free_category_; }
  /// Returns the iids of a region; those of "unknown region" if the trace does not define it.
  Region region(RegionId id) const { return id < regions_.size() ? regions_[id] : kUnknownRegion; }
  static std::uint64_t argument(timeline::ArgumentName name) {
    return static_cast<std::uint64_t>(name) + 1;
  }
  static constexpr std::uint64_t kAny = 1;  ///< iid of the string value for a wildcard
  static std::uint64_t comm(CommId id) { return std::uint64_t{id} + 2; }
  std::uint64_t call_site(std::int64_t number) const {
    return first_site_ + static_cast<std::uint64_t>(number);
  }
  std::uint64_t window(WinId id) const { return first_window_ + id; }
  /// Returns the iid of a file name. File names follow the names of communicators and windows.
  std::uint64_t file(FileId id) const { return first_file_ + id; }

 private:
  std::uint64_t first_window_;
  static constexpr Region kUnknownRegion{1, 1};

  std::string interned_;
  std::uint64_t first_free_name_ = 0;
  std::uint64_t first_free_category_ = 0;
  std::uint64_t first_file_ = 0;
  std::uint64_t first_site_ = 0;
  std::vector<Region> regions_;  ///< by RegionId
};

}  // namespace megascope::perfetto
