#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "analysis/match/match.h"
#include "analysis/pieces/piece.h"

namespace megascope::whatif {

using pieces::Piece;

/// Finds the piece that begins at a moment on a track.
class PieceIndex {
 public:
  explicit PieceIndex(const std::vector<Piece>& pieces, std::size_t track_count);
  /// The communication that begins then; kNone where there is none.
  std::uint32_t at(std::uint32_t track, std::uint64_t begin_ns) const;

 private:
  struct Entry {
    std::uint64_t begin_ns = 0;
    std::uint32_t piece = 0;
  };
  std::vector<std::vector<Entry>> by_track_;
};

/// What pieces wait for, as matching tells: for its end a piece needs the start of others.
class WaitSink final : public analysis::MatchSink {
 public:
  /// is_synchronous: a send ends with its receive, as transfers between devices do; else only where it is seen to have waited.
  WaitSink(const PieceIndex& index, bool is_synchronous) : index_(index), is_synchronous_(is_synchronous) {}

  void begin(std::size_t task_count) override { tasks_.resize(task_count); }
  void add_stop(analysis::Track, const analysis::Stop&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send, const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t task, const analysis::Collective& collective) override;
  void end_window() override {}

  /// A piece's end needs another's start.
  struct Need {
    std::uint32_t piece = 0;
    std::uint32_t of = 0;
    auto operator<=>(const Need&) const = default;
  };
  /// A collective all members of which waited for all: pieces that began it, and those that ended with it.
  struct Meeting {
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> ends;
  };
  std::vector<Need> take_needs();
  std::vector<Meeting> take_meetings();

 private:
  struct Task {
    std::vector<Need> needs;
    std::vector<Meeting> meetings;
  };
  static void add_rooted(Task& task, const analysis::Collective& collective, const Meeting& meeting);

  const PieceIndex& index_;
  bool is_synchronous_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::whatif
