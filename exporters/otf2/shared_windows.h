#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// Windows and the groups of their synchronization calls, unified over the processes (see
/// shared_definitions.h).
namespace megascope::otf2 {

/// A window as all its members know it. `key` is a hash of the communicator's key and the window's
/// global name; never 0.
struct SharedWindow {
  std::uint64_t key = 0;
  std::uint64_t comm_key = 0;
  std::string name;
};

/// A group of ranks. `key` is a hash of the members, and never 0.
struct SharedGroup {
  std::uint64_t key = 0;
  std::vector<RankRun> members;  ///< world ranks
};

/// The index of a window is its OTF2 id (RmaWin). The index of a group plus kFirstGroup is its OTF2
/// id (Group).
struct SharedWindows {
  std::vector<SharedWindow> windows;
  std::vector<SharedGroup> groups;
};

/// OTF2 id of the first of these groups. Id 0 is the group of communication locations.
inline constexpr std::uint32_t kFirstGroup = 1;

/// Returns the windows of one process. comm_keys: by CommId; 0 for a communicator whose definition
/// is invalid.
SharedWindows collect_windows(const ProcessDefinitions& process,
                              const std::vector<std::uint64_t>& comm_keys, std::int32_t world_size);
/// Appends the entries that `mine` lacks. O(both).
void merge_windows(SharedWindows& mine, SharedWindows theirs);
void put_windows(ByteWriter& to, const SharedWindows& windows);
SharedWindows get_windows(ByteReader& from);

/// OTF2 ids by key. The same on all members.
struct WindowIds {
  std::unordered_map<std::uint64_t, std::uint32_t> windows;
  std::unordered_map<std::uint64_t, std::uint32_t> groups;
};
void put_window_keys(ByteWriter& to, const SharedWindows& windows);
WindowIds get_window_ids(ByteReader& from);

/// OTF2 ids of one process's windows and groups.
class ProcessWindows {
 public:
  ProcessWindows() = default;
  ProcessWindows(const ProcessDefinitions& process, const std::vector<std::uint64_t>& comm_keys,
                 std::int32_t world_size, const WindowIds& ids);

  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;  ///< OTF2_UNDEFINED_RMA_WIN, _GROUP

  /// Return the id of a window or group; kUndefined if the trace does not define it.
  std::uint32_t window(WinId id) const { return id < windows_.size() ? windows_[id] : kUndefined; }
  std::uint32_t group(GroupId id) const { return id < groups_.size() ? groups_[id] : kUndefined; }
  /// Returns whether the call that created the window allocated its memory.
  bool is_allocated(WinId id) const { return id < is_allocated_.size() && is_allocated_[id]; }
  /// Returns the rank in a communicator of the traced process (`process` of the constructor); 0 if
  /// its trace does not define the communicator.
  std::uint32_t my_rank(CommId id) const { return id < my_ranks_.size() ? my_ranks_[id] : 0; }

 private:
  std::vector<std::uint32_t> windows_;  ///< by WinId
  std::vector<bool> is_allocated_;
  std::vector<std::uint32_t> groups_;    ///< by GroupId
  std::vector<std::uint32_t> my_ranks_;  ///< by CommId
};

}  // namespace megascope::otf2
