#pragma once

#include "plugin/live/model/store.h"
#include "plugin/live/protocol/frames.h"
#include "plugin/live/protocol/requests.h"
#include "plugin/live/views/latest_view_cache.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace megascope::live {

/// One subscription (panel) of a client, with its position in the data. next() builds a frame when
/// it can be sent. One thread.
class Subscription {
 public:
  /// capture_requests: ids of the capture requests in the CaptureRegistry. The caller releases
  /// them.
  Subscription(Subscribe request, std::vector<std::uint32_t> capture_requests, const Store& store);

  const Subscribe& request() const { return request_; }
  const std::vector<std::uint32_t>& capture_requests() const { return capture_requests_; }
  /// Whether the panel shows this capture request.
  bool wants(std::uint32_t capture_request) const;
  void add_credits(std::uint32_t count);
  /// Returns the number of known tensors, counters or ranks that the panel shows.
  std::size_t matches(const Store& store) const;
  /// Reports a new view in the latest-view cache. It replaces an unsent view of the same tensor.
  void receive_key(const LatestViewCache::Key& key);
  /// Builds the next frame and takes one credit. Returns nullopt if there is no new data or no
  /// credit. problem: set to a sentence if a frame cannot be built.
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

  /// Whether the subscription selects a tensor or counter.
  enum class Match : std::int8_t {
    kUnknown,  ///< not determined yet
    kNo,       ///< not selected
    kYes,      ///< selected
    kUnnamed,  ///< its name has not arrived; its entries were skipped
    kLate,     ///< selected, and its skipped entries are sent now
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  Match& match_of(std::uint32_t id);

  Subscribe request_;
  std::vector<std::uint32_t> capture_requests_;
  std::uint32_t credits_ = kFirstCredits;
  std::uint64_t next_entry_ = 0;              ///< position in the log
  std::deque<LatestViewCache::Key> waiting_;  ///< keys of the views to send, without duplicates
  std::vector<Match> match_;                  ///< by tensor or counter id
  /// First entry that was skipped because the name of its tensor has not arrived.
  std::uint64_t first_unnamed_ = kNone;
  std::size_t names_seen_ = 0;  ///< number of processed entries of TensorCatalog::learned()
  /// The skipped entries from late_entry_ to late_end_ (excluded) are sent before all others, if
  /// their tensor is kLate.
  std::uint64_t late_entry_ = 0;
  std::uint64_t late_end_ = 0;
  std::uint64_t dropped_ = 0;
  bool has_loss_ = false;  ///< data was dropped since the last frame
  bool has_complained_ = false;
};

}  // namespace megascope::live
