#pragma once

#include "core/lifecycle/control_port.h"
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

/// What one rank writes to rank 0 between steps, as bytes of one program's processes on machines of
/// one kind: items one after the other, each a multiple of 8 bytes.
namespace megascope::tensors {

inline constexpr std::size_t kMostLetterBytes = ControlPort::kMostLetterBytes;

/// A stretch of a view's split dimension that a rank has: elements [start, start + count) of the
/// part are those from `whole_start` on.
struct PartStretch {
  std::uint64_t start = 0;
  std::uint64_t whole_start = 0;
  std::uint64_t count = 0;
  std::uint64_t first_element = 0;  ///< of tiles: the first element of the whole tensor's last
                                    ///< dimension that the rank has of these …
  std::uint64_t element_count = 0;  ///< … and how many, as of the first and the last tile it may
                                    ///< have some only; 0: all of each
};

/// A tensor's name, by the key under which blocks and parts speak of it.
struct TensorName {
  std::uint64_t key = 0;
  std::int32_t layer = kNoLayer;
  TensorKind kind = TensorKind::kOther;
  ElementType type = ElementType::kFloat32;
  std::string name;
  std::vector<std::uint64_t> shape;  ///< of the whole, as far as this rank knows
};

struct CounterName {
  std::uint32_t id = 0;  ///< of that rank
  std::string name;
  std::string unit;
};

/// Counters that were set since the last letter, the last value of each.
struct CounterReadings {
  std::int64_t step = 0;
  std::vector<std::uint32_t> ids;
  std::vector<double> values;
};

/// The same of the time before anybody wanted them, which is told once.
struct PastReadings {
  CounterReadings readings;
};

/// A stretch of time of a rank whose program begins no steps. Those of different ranks with one
/// index overlap.
struct Interval {
  std::int64_t index = 0;  ///< since the epoch, in units of kIntervalMs, of its end
  float length_ms = 0.0F;
  float mpi_ms = 0.0F;  ///< of it in calls of MPI
  float own_ms = 0.0F;  ///< of it MegaScope's own time
  std::uint32_t reserved = 0;
};
inline constexpr std::int64_t kIntervalMs = 500;

/// What the calls of one MPI function add up to on a rank since the run began.
struct CallSum {
  std::uint64_t calls = 0;
  double time_ms = 0.0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};
/// What a rank has sent to another by point-to-point messages since the run began.
struct PeerSum {
  std::int32_t world_rank = 0;
  std::uint32_t reserved = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};
/// Sums of a rank whose program begins no steps, at the end of an interval. Functions and peers
/// that did not change since the rank last reported them are absent. One that is lost loses
/// nothing: the next one with that row replaces it.
struct CallSums {
  std::int64_t index = 0;   ///< Interval::index
  double elapsed_ms = 0.0;  ///< since the first call began
  std::string names;        ///< of the functions, one a line
  std::vector<CallSum> functions;
  std::vector<PeerSum> peers;
};
inline constexpr std::size_t kMaxCallSums = 32;  ///< functions in one
inline constexpr std::size_t kMaxPeerSums = 64;  ///< peers in one

/// What a rank has of a view of a tensor. Elements: `columns` numbers (float32) of each cell, cells
/// with the last dimension fastest; one column is the value itself or, of tiles, TileState::a;
/// three are count, a and b.
struct ViewPart {
  std::uint32_t wish = 0;  ///< Wish::id
  std::uint64_t key = 0;
  std::int64_t step = 0;
  std::int32_t micro_batch = kNoMicroBatch;
  std::uint32_t replica = 0;
  std::uint32_t copy = 0;  ///< of ranks along other dimensions than these that show one of the same
                           ///< name: the lowest counts
  std::uint32_t parts = 1;                 ///< ranks that hold one
  std::uint32_t columns = 1;               ///< of tiles as packed_tile() makes them
  std::int64_t realtime_ns = 0;            ///< when the program showed the tensor
  std::vector<std::uint64_t> full_shape;   ///< of the whole tensor
  std::vector<std::uint64_t> whole_shape;  ///< of the whole view
  std::vector<std::uint64_t> shape;        ///< of this part
  std::int32_t split_dimension = -1;       ///< of the view; -1: the part is the whole
  std::uint64_t tile_width = 0;   ///< of a tile view: elements of the last dimension a cell; 0: of
                                  ///< no tile view
  std::uint64_t tile_extent = 0;  ///< elements of the whole tensor's last dimension
  std::vector<PartStretch>
      stretches;  ///< along split_dimension; of tiles that two ranks share both have the cell
  std::vector<float> elements;
};

/// Why something that was asked for is not captured.
struct Notice {
  std::uint32_t wish = 0;
  std::string text;
};

inline constexpr std::size_t kMostReplyBytes = std::size_t{1} << 20;

/// The program's answer to a request (LiveServer::next_request), JSON text with the request's `id`;
/// kMostReplyBytes at most.
struct Reply {
  std::string text;
};
/// The program asks for requests: from then on clients may make some.
struct Polls {};

/// The request under way, or the oldest accepted, will not be answered: why.
struct RequestFailed {
  std::string text;
};

/// Parts of views that had no room in letters since this rank wrote the last of these.
struct LeftOut {
  std::uint64_t parts = 0;
};

/// The rank itself. Later facts replace former ones.
struct RankFacts {
  std::int64_t pid = 0;
  std::string host;
  std::string place;  ///< in the parallel groups: "dp 0, tp 1"; empty: not told
};

/// Makes a letter. Grows up to `room` bytes; what does not fit is left out whole: add() is false
/// then.
class LetterWriter {
 public:
  explicit LetterWriter(std::size_t room = kMostLetterBytes) : room_(room) {}
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
  /// All that `other` has. False: it does not fit.
  bool add(const LetterWriter& other);
  bool is_empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  /// Room for so many bytes more, so that what is written is not moved.
  void reserve(std::size_t bytes) { bytes_.reserve(std::min(room_, bytes_.size() + bytes)); }
  void clear() { bytes_.clear(); }
  std::vector<std::byte> take();

 private:
  bool add_readings(bool is_past, const CounterReadings& values);
  template <class Item, class Fill>
  bool add_item(Item item, Fill fill);

  std::size_t room_;
  std::vector<std::byte> bytes_;
};

/// What a part takes of a letter, at most.
std::size_t letter_bytes(const ViewPart& part);

/// What of consequence is in a letter, by the heads of its items: it is lost where it is not told
/// again.
struct LetterContents {
  bool has_names = false;    ///< or what else is told once
  bool has_answers = false;  ///< to requests
  std::int64_t counters_from = std::numeric_limits<
      std::int64_t>::max();  ///< the first step of which it has values of counters
};
LetterContents contents_of(std::span<const std::byte> letter) noexcept;

/// Reads a letter, which may be any bytes: false and nothing more is told where it is damaged. Each
/// call hands over one item.
class LetterReader {
 public:
  enum class Item {
    kEnd,
    kDamaged,
    kTensorName,
    kCounterName,
    kCounterReadings,
    kViewPart,
    kNotice,
    kInterval,
    kReply,
    kPolls,
    kRankFacts,
    kRequestFailed,
    kLeftOut,
    kPastReadings,
    kCallSums
  };
  explicit LetterReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Item next();
  // What next() has found, valid until it is called again.
  TensorName tensor_name;
  CounterName counter_name;
  CounterReadings counter_readings;  ///< past ones, too
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

}  // namespace megascope::tensors
