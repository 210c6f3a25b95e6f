#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/live/hub/observer.h"
#include "plugin/live/hub/request_queue.h"
#include "plugin/live/hub/subscription.h"
#include "plugin/live/model/block_facts.h"
#include "plugin/live/model/divergence.h"
#include "plugin/live/model/interval_rows.h"
#include "plugin/live/protocol/answer_queue.h"
#include "plugin/live/protocol/message_rate.h"
#include "plugin/live/protocol/protocol_endpoint.h"
#include "plugin/live/views/view_assembler.h"

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

namespace megascope::live {

/// State of one client. Only small texts are queued here; frames are built when they can be sent.
struct Client {
  std::map<std::string, Subscription> subscriptions;
  /// Panel that got the last frame. The panel after it is served next.
  std::string last_subscription;
  std::deque<std::string> replies;
  std::size_t reply_bytes = 0;
  AnswerQueue answers;
  std::deque<std::string> notices;  ///< notices about its panels
  std::size_t notice_bytes = 0;
  std::size_t reported_tensors = 0;  ///< entries of TensorCatalog::learned() that were sent
  std::size_t reported_counters = 0;
  std::uint64_t reported_events = 0;
  std::map<std::string, std::uint64_t> reported_drops;
  std::string last_drop;  ///< drop reason that was sent last; the reason after it is sent next
  std::int64_t drops_reported_ns = 0;
  std::uint32_t frame_number = 0;
  MessageRate rate;
  bool has_received_end = false;
  bool has_received_verdict = false;
};

/// The live view without sockets: takes the data from ranks and produces the messages for each
/// client (docs/live_protocol.md). Times: ns since the epoch, passed by the caller. One thread.
class Hub final : public ProtocolEndpoint {
 public:
  explicit Hub(LiveSettings settings);

  /// Adds the merged block of a step. block: any bytes.
  void take_block(std::span<const std::byte> block);
  /// Adds a rank update. rank_update: any bytes; the valid items before an error are used.
  void take_rank_update(std::int32_t world_rank, std::span<const std::byte> rank_update,
                        std::int64_t now_ns);
  /// Counts data that was dropped. reason: a noun phrase in the plural, which users see after the
  /// count.
  void count_drop(const std::string& reason, std::uint64_t count);
  /// Call periodically: completes views that waited too long for parts, and overdue requests.
  void tick(std::int64_t now_ns);

  std::optional<ClientId> connect(std::int64_t now_ns) override;
  void disconnect(ClientId client) override;
  bool receive(ClientId client, std::string_view text, std::int64_t now_ns) override;
  bool count_message(ClientId client, std::int64_t now_ns) override;
  bool next(ClientId client, std::int64_t now_ns, Outgoing& message) override;
  bool next_reply(ClientId client, std::string& text) override;
  bool is_waiting_for_verdict(ClientId client) const override;
  bool has_received_all(ClientId client) const override;

  bool take_changed_capture_requests(std::vector<std::byte>& capture_requests) {
    return store_.capture_requests.take_changed(capture_requests);
  }
  /// Ends the run. Each client gets the message `end`; its own messages are no longer answered
  /// after that. It stays connected until close(). After an abort, its connection can be closed at
  /// once.
  void end(bool is_aborted, std::int64_t now_ns);
  /// Call after end(). Sends the message `verdict` to each client; the connections can then be
  /// closed. verdict: its text, which is empty if there is no verdict; nullopt: the message is not
  /// sent.
  void close(const std::optional<std::string>& verdict);

  // The functions below are for the compatibility endpoint.
  void set_observer(Observer* observer) { observer_ = observer; }
  /// Adds capture requests. Returns their ids, under which their views are reported to the Observer
  /// until release(). Returns nullopt if there are too many requests. former: as
  /// CaptureRegistry::add().
  std::optional<std::vector<std::uint32_t>> want(
      const std::vector<capture::CaptureRequest>& capture_requests,
      const std::vector<std::uint32_t>& former) {
    return store_.capture_requests.add(capture_requests, From::kUnauthenticated, former);
  }
  void release(const std::vector<std::uint32_t>& capture_requests, From from);
  /// Sets the budget shown in /metrics, which must outlive the hub. nullptr: no budget is shown.
  void set_unauthenticated_budget(const UnauthenticatedBudget* budget) {
    unauthenticated_budget_ = budget;
  }
  const UnauthenticatedBudget* unauthenticated_budget() const { return unauthenticated_budget_; }
  RequestQueue& request_queue() { return request_queue_; }
  const RequestQueue& request_queue() const { return request_queue_; }
  std::uint64_t steps() const { return steps_; }

  const LiveSettings& settings() const { return settings_; }
  const Store& store() const { return store_; }
  bool is_running() const { return !has_ended_; }
  std::size_t client_count() const { return clients_.size(); }
  const std::map<std::string, std::uint64_t>& drops() const { return drops_; }
  std::uint64_t sent_frames() const { return sent_frames_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void add_statistics(const BlockFacts& facts);
  void alert(std::int64_t step, const steps::TensorSlot& slot, std::uint32_t id);
  void alert(std::int64_t step, const KnownCounter& counter);
  void watch(std::int64_t step, std::uint32_t id, double value);
  void add_part(std::int32_t world_rank, capture::ViewPart&& part, std::int64_t now_ns,
                std::vector<ViewPointer>& whole);
  void count_fate(ViewAssembler::Fate fate, std::uint32_t capture_request, std::uint64_t key);
  void learn_rank(std::int32_t world_rank, const capture::RankFacts& facts);
  void add_interval(std::int32_t world_rank, const capture::Interval& interval);
  void add_readings(std::int32_t world_rank, const capture::CounterReadings& readings,
                    bool is_past);
  void deliver(std::vector<ViewPointer>& views, std::int64_t now_ns);
  void notify(const capture::Notice& notice);
  void report(Client& client, const std::string& subscription, const std::string& text);
  void report_again(Client& client, const std::string& subscription,
                    const std::vector<std::uint32_t>& capture_requests);
  void announce(std::string text);
  void reply(Client& client, std::string text);
  void subscribe(Client& client, const Subscribe& request);
  void unsubscribe(Client& client, const std::string& subscription);
  void ask(ClientId id, Client& client, Ask&& ask);
  void receive_polls();
  void receive_reply(const std::string& text, std::int64_t now_ns);
  void fail_request(const std::string& why);
  void answer_to(const Asker& asker, const nlohmann::json& answer);
  static bool take_reply(Client& client, std::string& text);
  bool next_last(Client& client, Outgoing& message) const;
  bool next_text(Client& client, std::int64_t now_ns, std::string& text);
  bool next_names(Client& client, std::string& text);
  bool next_drops(Client& client, std::int64_t now_ns, std::string& text);
  bool next_frame(Client& client, std::int64_t now_ns, std::vector<std::byte>& frame);
  template <class Condition>
  bool next_frame_of(Client& client, Condition may_be, std::vector<std::byte>& frame);

  LiveSettings settings_;
  Store store_;
  ViewAssembler assembler_;
  IntervalRows intervals_;
  RequestQueue request_queue_;
  Observer* observer_ = nullptr;
  const UnauthenticatedBudget* unauthenticated_budget_ = nullptr;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
  std::deque<std::string> events_;  ///< alerts and notices for all clients
  std::uint64_t first_event_ = 0;
  std::vector<bool> is_alerted_;                     ///< by tensor id
  std::map<std::uint32_t, Divergence> divergences_;  ///< by counter id, for watched counters
  /// Ids of capture requests whose clients were notified that a view is too large for a frame.
  std::set<std::uint32_t> too_large_;
  /// Texts of the notices about each capture request, by its id, without duplicates.
  std::map<std::uint32_t, std::vector<std::string>> notices_;
  std::map<std::string, std::uint64_t> drops_;
  std::uint64_t sent_frames_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t steps_ = 0;
  bool has_ended_ = false;
  std::int64_t ended_ns_ = 0;
  std::string end_text_;
  bool is_closing_ = false;
  std::string verdict_text_;  ///< the message `verdict`; empty: it is not sent
};

}  // namespace megascope::live
