#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/live_server.h"
#include "plugin/live/block_facts.h"
#include "plugin/live/interval_rows.h"
#include "plugin/live/joiner.h"
#include "plugin/live/panel.h"

namespace megascope::live {

/// One message for a client.
struct Outgoing {
  bool is_text = false;
  std::string text;
  std::vector<std::byte> frame;
};

/// A client as the hub knows it. Nothing but small texts waits here: frames are made when they can be sent.
struct Client {
  std::map<std::string, Panel> panels;
  std::string last_panel;          ///< the one that had the last frame: the next has its turn
  std::deque<std::string> replies;
  std::size_t reply_bytes = 0;
  std::size_t told_tensors = 0;    ///< of what was learned
  std::size_t told_counters = 0;
  std::uint64_t told_events = 0;
  std::map<std::string, std::uint64_t> told_drops;
  std::int64_t drops_told_ns = 0;
  std::uint32_t frame_number = 0;
  double message_room = 0.0;       ///< messages that it may send now
  std::int64_t room_since_ns = 0;
  bool has_heard_end = false;
};

/// The live view without sockets: what ranks tell goes in, what each client is to get comes out. Times are handed in, ns since the epoch.
/// One thread.
class Hub {
 public:
  using ClientId = std::uint64_t;

  explicit Hub(LiveSettings settings);

  void take_block(std::span<const std::byte> block);
  void take_letter(std::int32_t world_rank, std::span<const std::byte> letter, std::int64_t now_ns);
  /// Something could not be kept; reason: words that go before a number.
  void count_drop(const std::string& reason, std::uint64_t count);
  /// What waits for parts in vain is handed on.
  void tick(std::int64_t now_ns);

  /// nullopt: there are kMostClients.
  std::optional<ClientId> connect(std::int64_t now_ns);
  void disconnect(ClientId client);
  /// False: it is to be closed (1008): it says too much, or does not take what it asked for.
  bool receive(ClientId client, std::string_view text, std::int64_t now_ns);
  /// A message that is none (a ping): counts for the rate. False: as receive().
  bool count_message(ClientId client, std::int64_t now_ns);
  /// The next message for it; false: there is none now.
  bool next(ClientId client, std::int64_t now_ns, Outgoing& message);

  /// Of what next() gives only what it asked for; for one that is about to be closed.
  bool next_reply(ClientId client, std::string& text);

  bool take_changed_wishes(std::vector<std::byte>& wishes) { return store_.wishes.take_changed(wishes); }
  void end(bool is_aborted, std::int64_t now_ns);
  bool has_heard_all(ClientId client) const;

  const LiveSettings& settings() const { return settings_; }
  const Store& store() const { return store_; }
  bool is_running() const { return !has_ended_; }
  std::size_t client_count() const { return clients_.size(); }
  const std::map<std::string, std::uint64_t>& drops() const { return drops_; }
  std::uint64_t sent_frames() const { return sent_frames_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void add_statistics(const BlockFacts& facts);
  void alert(std::int64_t step, const tensors::TensorSlot& slot, std::uint32_t id);
  void add_part(std::int32_t world_rank, tensors::ViewPart&& part, std::int64_t now_ns, std::vector<ViewPointer>& whole);
  void learn_rank(std::int32_t world_rank, const tensors::RankFacts& facts);
  void add_interval(std::int32_t world_rank, const tensors::Interval& interval);
  void add_readings(std::int32_t world_rank, const tensors::CounterReadings& readings);
  void shelve(std::vector<ViewPointer>& views);
  void notify(const tensors::Notice& notice);
  void announce(std::string text);
  void reply(Client& client, std::string text);
  void subscribe(Client& client, const Subscribe& request);
  void unsubscribe(Client& client, const std::string& panel);
  void release(const std::vector<std::uint32_t>& wishes);
  static bool take_reply(Client& client, std::string& text);
  bool next_text(Client& client, std::int64_t now_ns, std::string& text);
  bool next_names(Client& client, std::string& text);
  bool next_drops(Client& client, std::int64_t now_ns, std::string& text);
  bool next_frame(Client& client, std::vector<std::byte>& frame);
  bool may_speak(Client& client, std::int64_t now_ns);

  LiveSettings settings_;
  Store store_;
  Joiner joiner_;
  IntervalRows intervals_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
  std::deque<std::string> events_;     ///< alerts and notices of all
  std::uint64_t first_event_ = 0;
  std::vector<bool> is_alerted_;       ///< by id of a tensor
  std::set<std::uint32_t> too_large_;  ///< wishes of whom that was said
  std::map<std::string, std::uint64_t> drops_;
  std::uint64_t sent_frames_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t steps_ = 0;
  bool has_ended_ = false;
  std::string end_text_;
};

}  // namespace megascope::live
