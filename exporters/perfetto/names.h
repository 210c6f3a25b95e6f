#pragma once

#include "core/record/definitions.h"
#include "exporters/common/call_arguments.h"
#include "exporters/perfetto/packet_stream.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::perfetto {

/// The strings of one process to which packets refer by interning id (iid). Event names,
/// categories, argument names and string values have separate ids, each from 1 on. Event names get
/// their ids when they are first used: most functions of MPI are not used by a program, and ids
/// below 128 take one byte.
class Names {
 public:
  /// Interning ids of a region's name and category.
  struct Region {
    std::uint32_t name;
    std::uint32_t category;
  };

  /// process and packets must outlive this object.
  Names(const ProcessDefinitions& process, PacketStream& packets);

  /// Content of the InternedData message that defines all strings except event names.
  const std::string& interned() const { return interned_; }
  /// The following two are the first unused iids of argument names and of categories.
  static constexpr std::uint64_t kFirstFreeArgument = timeline::kArgumentNameCount + 1;
  std::uint64_t first_free_category() const { return first_free_category_; }
  /// Returns the iids of a region; those of "unknown region" if the trace does not define it. May
  /// write a packet.
  Region region(RegionId id) {
    Region& known = regions_[id < regions_.size() ? id : kNoRegion];
    if (known.name == 0) define_region(known, id);
    return known;
  }
  /// Returns the iid of a new event name. Writes the packet that defines it.
  std::uint32_t define_event_name(std::string_view name);
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
  void define_region(Region& region, RegionId id);

  const ProcessDefinitions& process_;
  PacketStream& packets_;
  std::uint64_t first_window_;
  std::string interned_;
  std::uint32_t last_name_ = 0;
  std::uint64_t first_free_category_ = 0;
  std::uint64_t first_file_ = 0;
  std::uint64_t first_site_ = 0;
  /// By RegionId. name: 0 until the region is first used. At kNoRegion: "unknown region", also for
  /// ids without a definition.
  std::vector<Region> regions_;
};

}  // namespace megascope::perfetto
