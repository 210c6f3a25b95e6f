#pragma once

#include "core/lifecycle/rank_mailbox.h"
#include "core/record/point.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Rank update: a message that a rank sends to rank 0 for the live view. It is a sequence of items
/// in memory layout, each padded to a multiple of 8 bytes. It is sent only between processes of one
/// program on machines of one kind.
///
/// A view of a tensor contains the tensor's elements. A tile view contains one number for each tile
/// instead. A tile is a range of consecutive elements in the tensor's last dimension
/// (kernels/tiles.h).
namespace megascope::capture {

inline constexpr std::size_t kMaxRankUpdateBytes = RankMailbox::kMaxRankUpdateBytes;

/// A contiguous range of a view's split dimension that a rank holds: elements [start, start +
/// count) of the part are elements [whole_start, whole_start + count) of the whole view.
struct PartStretch {
  std::uint64_t start = 0;
  std::uint64_t whole_start = 0;
  std::uint64_t count = 0;
  /// Only for tile views (one number for each tile of consecutive elements): index, in the last
  /// dimension of the global tensor, of the first element that the rank holds in the tiles of this
  /// range.
  std::uint64_t first_element = 0;
  /// Only for tile views: number of elements that the rank holds in the tiles of this range. The
  /// first and the last tile may be incomplete. 0: all tiles are complete.
  std::uint64_t element_count = 0;
};

/// The name and shape of the tensor that step blocks and view parts identify by `key`.
struct TensorName {
  std::uint64_t key = 0;
  std::int32_t layer = kNoLayer;
  TensorKind kind = TensorKind::kOther;
  ElementType type = ElementType::kFloat32;
  std::string name;
  std::vector<std::uint64_t> shape;  ///< global extents, as far as this rank knows
};

/// The name and unit of one counter of the sending rank.
struct CounterName {
  std::uint32_t id = 0;  ///< CounterId on the sending rank
  std::string name;
  std::string unit;
};

/// The latest values of counters that were set since the last rank update, all in one step. ids and
/// values have the same order.
struct CounterReadings {
  std::int64_t step = 0;
  std::vector<std::uint32_t> ids;
  std::vector<double> values;
};

/// Values of counters that were set before a client requested the counters. They are sent once.
struct PastReadings {
  CounterReadings readings;
};

/// Activity of a rank in a time interval, where the application annotates no steps. Intervals of
/// different ranks with equal index overlap.
struct Interval {
  std::int64_t index = 0;  ///< wall-clock time of the interval's end, in units of kIntervalMs since
                           ///< the epoch
  float length_ms = 0.0F;
  float mpi_ms = 0.0F;  ///< of length_ms, time in MPI calls
  float own_ms = 0.0F;  ///< of length_ms, measurement overhead
  std::uint32_t reserved = 0;
};
inline constexpr std::int64_t kIntervalMs = 500;

/// Totals of one MPI function on a rank since the run started.
struct CallSum {
  std::uint64_t calls = 0;
  double time_ms = 0.0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};
/// Totals of point-to-point messages from a rank to another one since the run started.
struct PeerSum {
  std::int32_t world_rank = 0;
  std::uint32_t reserved = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};
/// Totals of a rank at the end of an interval, where the application annotates no steps. Rows that
/// did not change since the last report are omitted. Totals are cumulative, so a dropped report is
/// superseded by the next one that has the row.
struct CallSums {
  std::int64_t index = 0;   ///< Interval::index
  double elapsed_ms = 0.0;  ///< since the first call began
  std::string names;        ///< names of the functions, one a line, in the order of `functions`
  std::vector<CallSum> functions;
  std::vector<PeerSum> peers;
};
inline constexpr std::size_t kMaxCallSums = 32;  ///< functions in one report
inline constexpr std::size_t kMaxPeerSums = 64;  ///< peers in one report

/// One rank's part of a view. `elements` has `columns` float32 numbers for each cell, last
/// dimension fastest. If `columns` is 1, the number is the element's value, or TileState::a of the
/// tile. If it is 3, the numbers are count, a and b of the tile's TileState.
struct ViewPart {
  std::uint32_t capture_request = 0;  ///< CaptureRequest::id
  std::uint64_t key = 0;
  std::int64_t step = 0;
  std::int32_t micro_batch = kNoMicroBatch;
  std::uint32_t replica = 0;
  /// Distinguishes groups of ranks that hold different tensors of one name. Clients see the group
  /// with the lowest number.
  std::uint32_t copy = 0;
  std::uint32_t parts = 1;                 ///< number of ranks that hold a part
  std::uint32_t columns = 1;               ///< 1 or 3; see packed_tile()
  std::int64_t realtime_ns = 0;            ///< when the application showed the tensor
  std::vector<std::uint64_t> full_shape;   ///< extents of the global tensor
  std::vector<std::uint64_t> whole_shape;  ///< extents of the whole view
  std::vector<std::uint64_t> shape;        ///< extents of this part
  /// Dimension of the view along which it is split; -1: the part is the whole view.
  std::int32_t split_dimension = -1;
  /// Tile views: elements of the last dimension in a cell; 0: not a tile view.
  std::uint64_t tile_width = 0;
  std::uint64_t tile_extent = 0;  ///< tile views: elements of the global tensor's last dimension
  /// The ranges along split_dimension that the rank holds. If two ranks hold elements of a tile,
  /// the tile is in the parts of both.
  std::vector<PartStretch> stretches;
  std::vector<float> elements;
};

/// Why a requested item is not captured.
struct Notice {
  /// CaptureRequest::id; 0: for all clients
  std::uint32_t capture_request = 0;
  std::string text;
};

/// Maximum size of Reply::text.
inline constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 20;

/// The application's reply to a client's request (LiveServer::next_request): JSON text with the
/// request's `id`, at most kMaxReplyBytes.
struct Reply {
  std::string text;
};
/// The application has begun to poll for requests, so clients can make requests.
struct Polls {};

/// The client request in progress will not be answered; if none is in progress, this holds for the
/// oldest accepted request. text: why.
struct RequestFailed {
  std::string text;
};

/// Number of view parts that this rank has discarded for lack of space since its last LeftOut item.
struct LeftOut {
  std::uint64_t parts = 0;
};

/// Facts about the sending process. Later facts replace earlier ones.
struct RankFacts {
  std::int64_t pid = 0;
  std::string host;
  /// Coordinates in the parallel groups, e.g. "dp 0, tp 1"; empty: not annotated.
  std::string place;
};

/// Builds a rank update of at most `space` bytes. add() appends one item; if the item does not fit,
/// it returns false and appends nothing. Strings longer than 4096 bytes are truncated, except that
/// a Reply longer than kMaxReplyBytes is rejected. Throws std::bad_alloc, with the contents
/// unchanged.
class RankUpdateWriter {
 public:
  explicit RankUpdateWriter(std::size_t space = kMaxRankUpdateBytes) : space_(space) {}
  bool add(const TensorName& name);
  bool add(const CounterName& name);
  bool add(const CounterReadings& values);
  bool add(const PastReadings& past);
  bool add(const ViewPart& part);
  bool add(const Notice& notice);
  bool add(const Interval& interval);
  bool add(const CallSums& sums);
  bool add(const Reply& reply);
  bool add(const Polls& polls);
  bool add(const RankFacts& facts);
  bool add(const RequestFailed& failed);
  bool add(const LeftOut& left_out);
  /// Appends all items of `other`. If they do not all fit, appends nothing and returns false.
  bool add(const RankUpdateWriter& other);
  bool is_empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  /// Reserves memory for `bytes` more bytes, but not for more than `space` in total.
  void reserve(std::size_t bytes) { bytes_.reserve(std::min(space_, bytes_.size() + bytes)); }
  void clear() { bytes_.clear(); }
  /// Returns the bytes; the writer is empty afterwards.
  std::vector<std::byte> take();

 private:
  bool add_readings(bool is_past, const CounterReadings& values);
  template <class Item, class Fill>
  bool add_item(Item item, Fill fill);

  std::size_t space_;
  std::vector<std::byte> bytes_;
};

/// Upper bound of the bytes that a part needs in a rank update.
std::size_t rank_update_bytes(const ViewPart& part);

/// Which items of a rank update must be sent again if it is dropped. Read from item headers only.
struct RankUpdateContents {
  bool has_names = false;    ///< names, process facts or other items that are sent once
  bool has_answers = false;  ///< replies to requests
  /// First step with counter values; max() if there are no counter values.
  std::int64_t counters_from = std::numeric_limits<std::int64_t>::max();
};
/// Inspects a rank update. rank_update: any bytes.
RankUpdateContents contents_of(std::span<const std::byte> rank_update) noexcept;

/// Reads a rank update. bytes: any bytes; they must outlive the reader. next() stores the next item
/// in the member for its kind and returns the kind. After the last item it returns kEnd. If an item
/// is malformed or of an unknown kind, next() returns kDamaged once, ignores the rest, and then
/// returns kEnd.
class RankUpdateReader {
 public:
  enum class Item {
    kEnd,              ///< there are no more items
    kDamaged,          ///< the rest of the bytes is malformed or of an unknown kind
    kTensorName,       ///< `tensor_name` is set
    kCounterName,      ///< `counter_name` is set
    kCounterReadings,  ///< `counter_readings` is set
    kViewPart,         ///< `view_part` is set
    kNotice,           ///< `notice` is set
    kInterval,         ///< `interval` is set
    kReply,            ///< `reply` is set
    kPolls,            ///< a Polls item, which has no contents
    kRankFacts,        ///< `rank_facts` is set
    kRequestFailed,    ///< `request_failed` is set
    kLeftOut,          ///< `left_out` is set
    kPastReadings,     ///< `counter_readings` is set to the contents of a PastReadings item
    kCallSums          ///< `call_sums` is set
  };
  explicit RankUpdateReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Item next();
  // Filled by next(); valid until the next call.
  TensorName tensor_name;
  CounterName counter_name;
  CounterReadings counter_readings;  ///< for kCounterReadings and kPastReadings
  ViewPart view_part;
  Notice notice;
  Interval interval;
  CallSums call_sums;
  Reply reply;
  RankFacts rank_facts;
  RequestFailed request_failed;
  LeftOut left_out;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace megascope::capture
