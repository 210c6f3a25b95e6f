#pragma once

#include "analysis/match/match.h"
#include "analysis/whatif/operation_graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::whatif {

/// A piece by its process's index and its number there; of regions, which are numbered through, the
/// process is 0.
using PieceKey = std::uint64_t;
inline constexpr PieceKey kNoPiece = ~PieceKey{0};
inline constexpr PieceKey piece_key(std::size_t process_index, std::size_t number) {
  return std::uint64_t{process_index} << 32 | number;
}

/// From keys to operations, which lie process by process.
class PieceNumbers {
 public:
  /// The next process has so many pieces.
  void add_process(std::size_t count) {
    first_.push_back(first_.back() + static_cast<OperationIndex>(count));
  }
  /// kNone: of a piece that was dropped.
  OperationIndex of(PieceKey key) const {
    const auto process = static_cast<std::size_t>(key >> 32);
    const auto index = first_[process] + static_cast<OperationIndex>(key);
    return index < first_[process + 1] ? index : kNone;
  }

 private:
  std::vector<OperationIndex> first_ = {0};
};

/// Finds the communication that begins at a moment on a track.
class PieceIndex {
 public:
  explicit PieceIndex(std::size_t track_count) : by_track_(track_count) {}
  /// Of one track in order of begin. Threads may add to different tracks at once.
  void add(analysis::Track track, std::uint64_t begin_ns, PieceKey piece) {
    by_track_[track].push_back({begin_ns, piece});
  }
  /// kNoPiece where there is none.
  PieceKey at(analysis::Track track, std::uint64_t begin_ns) const;

 private:
  struct Entry {
    std::uint64_t begin_ns = 0;
    PieceKey piece = 0;
  };
  std::vector<std::vector<Entry>> by_track_;
};

/// What pieces wait for, as matching tells: for its end a piece needs the start of others.
class WaitSink final : public analysis::MatchSink {
 public:
  /// index: outlives the object; holds the pieces of calls before what they say is matched.
  /// is_synchronous: a send ends with its receive, as transfers between devices do; else only where
  /// it is seen to have waited.
  WaitSink(const PieceIndex& index, bool is_synchronous)
      : index_(index), is_synchronous_(is_synchronous) {}

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t task, const analysis::Collective& collective) override;
  void end_window() override {}

  /// A piece's end needs another's start.
  struct Need {
    PieceKey piece = 0;
    PieceKey of = 0;
    auto operator<=>(const Need&) const = default;
  };
  /// A collective all members of which waited for all: pieces that began it, and those that ended
  /// with it.
  struct Meeting {
    std::vector<PieceKey> starts;
    std::vector<PieceKey> ends;
  };
  /// Ascending, each once.
  std::vector<Need> take_needs();
  std::vector<Meeting> take_meetings();

 private:
  struct Task {
    std::vector<Need> needs;
    std::vector<Meeting> meetings;
  };
  static void add_rooted(Task& task, const analysis::Collective& collective,
                         const Meeting& meeting);

  const PieceIndex& index_;
  bool is_synchronous_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::whatif
