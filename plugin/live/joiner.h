#pragma once

#include "kernels/tiles.h"
#include "plugin/tensors/letter.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace megascope::live {

/// A view of a whole tensor, as clients get it.
struct View {
  std::uint32_t wish = 0;
  std::uint64_t key = 0;
  std::int64_t step = 0;
  std::int32_t micro_batch = kNoMicroBatch;
  std::uint32_t replica = 0;
  std::vector<std::int32_t> ranks;  ///< of the world, whose parts are in it, ascending
  std::uint32_t missing = 0;        ///< so many more should have had one
  std::int64_t begin_ns = 0;        ///< since the epoch, when the first rank had it
  std::int64_t end_ns = 0;          ///< when it was whole here
  std::uint64_t tile_width = 0;     ///< elements a cell; 0: no tiles
  std::vector<std::uint64_t> full_shape;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;  ///< of `shape`, last dimension fastest; of parts that are missing NaN
};
/// What it takes, also where it has no values.
inline std::size_t bytes_of(const View& view) {
  return sizeof view + view.values.size() * sizeof(float);
}
using ViewPointer = std::shared_ptr<const View>;

/// Puts the parts of views together that ranks wrote. What never becomes whole is handed out as it
/// is: when it waited for kPatienceNs and kPatienceBlocks, when a later step's is whole, or when
/// there are more than kMostPartBytes. One thread.
class Joiner {
 public:
  static constexpr std::int64_t kPatienceNs = 2'000'000'000;
  static constexpr std::int64_t kMostPatienceNs = 300'000'000'000;  ///< where no more steps begin
  /// A rank's letter leaves where its next step begins, if the one before has; where rank 0's next
  /// one does it is found, a large one is there one later. Rank 0's own parts are there at once,
  /// and two blocks may be heard at one boundary.
  static constexpr std::uint64_t kPatienceBlocks = 4;

  /// What became of a part.
  enum class Fate : std::uint8_t {
    kTaken,
    kCopy,     ///< passed over: a lower copy tells the same
    kPast,     ///< too late, or of a step before: that step, or a later one, was handed out
    kInstead,  ///< taken, though copies of it are passed over so far: the lower one comes no more
    kTwice,    ///< the rank told it already
    kUnlike,   ///< it is of another shape than the others' parts
    kTooMany,  ///< views of kMostPlaces tensors are kept apart
  };

  /// part: of a letter, sound. method: of its wish, if it is of tiles. now_ns: since the epoch.
  /// whole: gets what is done with by that.
  Fate add(std::int32_t world_rank, tensors::ViewPart&& part, const kernels::TileMethod& method,
           std::int64_t now_ns, std::vector<ViewPointer>& whole);
  /// All ranks have begun a step.
  void hear_block() { ++blocks_; }
  /// Hands out what waited for too long; all: whatever waits.
  void expire(std::int64_t now_ns, bool all, std::vector<ViewPointer>& whole);
  /// Nobody wants these any more.
  void forget(std::uint32_t wish);
  std::size_t waiting_bytes() const { return bytes_; }

 private:
  struct Place {  ///< what parts of different steps have in common
    std::uint32_t wish;
    std::uint64_t key;
    std::int32_t micro_batch;
    std::uint32_t replica;
    auto operator<=>(const Place&) const = default;
  };
  struct Open {
    View view;
    kernels::TileMethod method;
    std::uint32_t parts = 1;
    std::uint32_t columns = 1;
    std::uint64_t tile_extent = 0;
    std::int32_t split_dimension = -1;
    std::vector<std::uint8_t> is_filled;  ///< along the split dimension
    std::vector<std::uint64_t>
        covered;  ///< of tiles that are split: elements of each, of a row; empty: of others
    std::int64_t since_ns = 0;
    std::uint64_t since_block = 0;
  };
  struct Past {
    std::int64_t last_step = -1;   ///< a part of this step or an earlier one comes too late
    std::uint32_t least_copy = 0;  ///< parts of others do not count …
    std::int64_t seen_ns = 0;      ///< … unless the last of it came that long ago …
    std::uint64_t seen_block = 0;
    std::int64_t passed_step = -1;   ///< … and those of others since, this the last, are …
    std::uint64_t passed_steps = 0;  ///< … of so many steps
  };
  using Steps = std::map<std::int64_t, Open>;

  static Open opened(const tensors::ViewPart& part, const kernels::TileMethod& method,
                     std::int64_t now_ns);
  static bool fits(const Open& open, const tensors::ViewPart& part);
  static void put(Open& open, const tensors::ViewPart& part);
  static ViewPointer finished(Open&& open, std::int64_t now_ns);
  void close(const Place& place, Steps& steps, Steps::iterator at, std::int64_t now_ns,
             std::vector<ViewPointer>& whole);
  bool is_patient(std::int64_t since_ns, std::uint64_t since_block, std::int64_t now_ns) const;
  Fate judge(const Place& place, const tensors::ViewPart& part, std::int64_t now_ns);
  Fate judge_copy(Past& past, const tensors::ViewPart& part, std::int64_t now_ns) const;
  void drop(std::map<Place, Steps>::iterator at);
  void make_room(std::int64_t now_ns, std::vector<ViewPointer>& whole);

  std::map<Place, Steps> open_;
  std::map<Place, Past> past_;
  std::size_t bytes_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace megascope::live
