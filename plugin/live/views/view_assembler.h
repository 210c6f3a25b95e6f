#pragma once

#include "kernels/tiles.h"
#include "plugin/capture/rank_update.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace megascope::live {

/// A view of a whole tensor, as sent to clients.
struct View {
  std::uint32_t capture_request = 0;
  std::uint64_t key = 0;
  std::int64_t step = 0;
  std::int32_t micro_batch = kNoMicroBatch;
  std::uint32_t replica = 0;
  std::vector<std::int32_t> ranks;  ///< world ranks whose parts are in it, ascending
  std::uint32_t missing = 0;        ///< number of missing parts
  std::int64_t begin_ns = 0;        ///< time since the epoch when the first rank captured its part
  std::int64_t end_ns = 0;          ///< time since the epoch when the view was delivered on rank 0
  std::uint64_t tile_width = 0;     ///< elements in a cell; 0: not tiled
  std::vector<std::uint64_t> full_shape;
  std::vector<std::uint64_t> shape;
  /// Values of `shape`, last dimension fastest; NaN where parts are missing.
  std::vector<float> values;
};
/// Memory of a view in bytes.
inline std::size_t bytes_of(const View& view) {
  return sizeof view + view.values.size() * sizeof(float);
}
using ViewPointer = std::shared_ptr<const View>;

/// Assembles views from the parts that ranks send. An incomplete view is delivered without its
/// missing parts in three cases:
/// - It has waited for more than kTimeoutNs, and also for kTimeoutBlocks blocks or for more than
/// kMaxTimeoutNs.
/// - A view of the same tensor of a later step is complete.
/// - All incomplete views together exceed kMaxPartBytes. The oldest is then delivered first.
/// One thread.
class ViewAssembler {
 public:
  static constexpr std::int64_t kTimeoutNs = 2'000'000'000;
  /// Timeout for the case that no more steps begin.
  static constexpr std::int64_t kMaxTimeoutNs = 300'000'000'000;
  /// Number of step blocks for which an incomplete view waits. It is larger than the longest delay
  /// of a part, which is eight step boundaries. A rank sends a rank update at its next step
  /// boundary, but only when its previous one has been delivered. Each delivery takes up to four
  /// boundaries: a large message between ranks that enter MPI only at boundaries, in an MPI library
  /// without single-copy transfer, takes two, or four if the order of the ranks varies. The margin
  /// is needed because rank 0's own parts arrive at once, and because one boundary may process two
  /// blocks.
  static constexpr std::uint64_t kTimeoutBlocks = 12;

  /// Result of add() for a part.
  enum class Fate : std::uint8_t {
    kTaken,    ///< used
    kCopy,     ///< ignored: a replica with a lower number sends the same tensor
    kPast,     ///< too late: a view of that step or a later one was delivered
    kInstead,  ///< used, and replaces a replica with a lower number that stopped sending
    kTwice,    ///< ignored: the rank has already sent it
    kUnlike,   ///< ignored: its shape contradicts the other parts
    kTooMany,  ///< ignored: kMaxKeys tensor views are known already
  };

  /// Adds a part. part: validated by RankUpdateReader. method: method of the part's capture
  /// request; used if the part is tiled. now_ns: since the epoch. whole: receives the views that
  /// this call delivers, complete or not.
  Fate add(std::int32_t world_rank, capture::ViewPart&& part, const kernels::TileMethod& method,
           std::int64_t now_ns, std::vector<ViewPointer>& whole);
  /// Call for each step block; counts towards kTimeoutBlocks.
  void receive_block() { ++blocks_; }
  /// Delivers the views that waited too long. all: delivers every incomplete view.
  void expire(std::int64_t now_ns, bool all, std::vector<ViewPointer>& whole);
  /// Discards everything about a capture request.
  void forget(std::uint32_t capture_request);
  std::size_t waiting_bytes() const { return bytes_; }

 private:
  struct Key {  ///< identifies a tensor view across steps
    std::uint32_t capture_request;
    std::uint64_t key;
    std::int32_t micro_batch;
    std::uint32_t replica;
    auto operator<=>(const Key&) const = default;
  };
  struct Open {
    View view;
    kernels::TileMethod method;
    std::uint32_t parts = 1;
    std::uint32_t columns = 1;
    std::uint64_t tile_extent = 0;
    std::int32_t split_dimension = -1;
    std::vector<std::uint8_t> is_filled;  ///< by index along the split dimension
    /// Number of present elements of each tile in a row. Empty if the tiles are not split.
    std::vector<std::uint64_t> covered;
    std::int64_t since_ns = 0;
    std::uint64_t since_block = 0;
  };
  struct Past {
    /// The last delivered step. Parts of this step or of earlier steps are too late.
    std::int64_t last_step = -1;
    /// Replica whose parts are used. Parts of replicas with a higher number are ignored as long as
    /// parts of this one are expected (judge_copy()).
    std::uint32_t min_copy = 0;
    std::int64_t seen_ns = 0;       ///< when the last part of this replica arrived
    std::uint64_t seen_block = 0;   ///< number of blocks when the last part of this replica arrived
    std::int64_t passed_step = -1;  ///< highest step of which another replica sent a part
    /// Number of later steps of which other replicas sent parts since the last part of this
    /// replica.
    std::uint64_t passed_steps = 0;
  };
  using Steps = std::map<std::int64_t, Open>;

  static Open opened(const capture::ViewPart& part, const kernels::TileMethod& method,
                     std::int64_t now_ns);
  static bool fits(const Open& open, const capture::ViewPart& part);
  static void put(Open& open, const capture::ViewPart& part);
  static ViewPointer finished(Open&& open, std::int64_t now_ns);
  void close(const Key& key, Steps& steps, Steps::iterator at, std::int64_t now_ns,
             std::vector<ViewPointer>& whole);
  bool is_patient(std::int64_t since_ns, std::uint64_t since_block, std::int64_t now_ns) const;
  Fate judge(const Key& key, const capture::ViewPart& part, std::int64_t now_ns);
  Fate judge_copy(Past& past, const capture::ViewPart& part, std::int64_t now_ns) const;
  void drop(std::map<Key, Steps>::iterator at);
  void make_space(std::int64_t now_ns, std::vector<ViewPointer>& whole);

  std::map<Key, Steps> open_;
  std::map<Key, Past> past_;
  std::size_t bytes_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace megascope::live
