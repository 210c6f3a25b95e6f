#pragma once

#include "plugin/live/call_table.h"
#include "plugin/live/catalog.h"
#include "plugin/live/counter_log.h"
#include "plugin/live/frames.h"
#include "plugin/live/history.h"
#include "plugin/live/requests.h"
#include "plugin/live/shelf.h"
#include "plugin/live/wish_book.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

struct History {
  Log<StepEntry> steps;
  CounterLog counters;
  Log<StatisticsEntry> statistics;
};

/// What panels show, owned by the hub.
struct Store {
  TensorCatalog tensors;
  CounterCatalog counters;
  History history;
  Shelf shelf;
  WishBook wishes;
  CallTable calls;
  std::uint32_t ranks = 1;     ///< of whom times are shown
  bool has_intervals = false;  ///< "steps" are stretches of time: the program begins none
};

/// One subscription of a client, and how far it is. Holds no frame: it makes one when the client
/// can take it. One thread.
class Panel {
 public:
  /// wishes: of the book, released by who made them.
  Panel(Subscribe request, std::vector<std::uint32_t> wishes, const Store& store);

  const Subscribe& request() const { return request_; }
  const std::vector<std::uint32_t>& wishes() const { return wishes_; }
  bool wants(std::uint32_t wish) const;
  void add_credits(std::uint32_t count);
  /// Tensors, counters or ranks that match now.
  std::size_t matches(const Store& store) const;
  /// A view came onto the shelf: it replaces what the panel was still to send of that tensor.
  void hear_of(const Shelf::Place& place);
  /// The next frame, for which a credit is taken; nullopt: nothing is new, or there is no credit.
  /// problem: why one cannot be made.
  std::optional<std::vector<std::byte>> next(const Store& store, std::uint32_t frame_number,
                                             std::string& problem);
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::optional<std::vector<std::byte>> next_steps(const Store& store, std::uint32_t frame_number);
  std::optional<std::vector<std::byte>> next_counters(const Store& store,
                                                      std::uint32_t frame_number);
  std::optional<std::vector<std::byte>> next_statistics(const Store& store,
                                                        std::uint32_t frame_number);
  std::optional<std::vector<std::byte>> next_calls(const Store& store, std::uint32_t frame_number);
  std::optional<std::vector<std::byte>> next_view(const Store& store, std::uint32_t frame_number,
                                                  std::string& problem);
  std::optional<std::vector<std::byte>> next_late_statistics(const Store& store,
                                                             std::uint32_t frame_number);
  void look_for_names(const Store& store);
  std::vector<std::byte> view_frame(const View& view, const Store& store,
                                    std::uint32_t frame_number) const;
  FrameHead head_of(FrameKind kind, std::uint32_t frame_number) const;
  nlohmann::json metadata_of_series() const;
  template <class Entry>
  void skip_lost(const Log<Entry>& log);
  void lose(std::uint64_t count);

  /// Is a tensor or counter one of those that were asked for?
  enum class Match : std::int8_t {
    kUnknown,
    kNo,
    kYes,
    kUnnamed,  ///< its name did not come yet, and entries of it were passed over
    kLate,     ///< yes, and these come now
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  Match& match_of(std::uint32_t id);

  Subscribe request_;
  std::vector<std::uint32_t> wishes_;
  std::uint32_t credits_ = kFirstCredits;
  std::uint64_t next_entry_ = 0;         ///< of the log that it shows
  std::deque<Shelf::Place> waiting_;     ///< each once
  std::vector<Match> match_;             ///< by id
  std::uint64_t first_unnamed_ = kNone;  ///< no entry before it was passed over for want of a name
  std::size_t names_seen_ = 0;           ///< of TensorCatalog::learned()
  std::uint64_t late_entry_ = 0;         ///< of those that are kLate the entries from here …
  std::uint64_t late_end_ = 0;           ///< … to here are sent first
  std::uint64_t dropped_ = 0;
  bool has_loss_ = false;  ///< since the last frame
  bool has_complained_ = false;
};

}  // namespace megascope::live
