#pragma once

#include "plugin/live/compat/lens.h"
#include "plugin/live/compat/requests.h"
#include "plugin/live/compat/text_progress.h"
#include "plugin/live/hub/hub.h"
#include "plugin/live/hub/observer.h"
#include "plugin/live/projection/vector_cache.h"
#include "plugin/live/protocol/answer_queue.h"
#include "plugin/live/protocol/protocol_endpoint.h"
#include "plugin/live/protocol/unauthenticated_budget.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::live {

/// Server side of the compatibility protocols: MegatronApp and Megatron's tensor tracer
/// (docs/live_compat.md). Sends the views that Hub assembles. Never blocks on a client: when a
/// client can receive, it gets the latest view of each tensor. Only on the hub's thread.
class CompatHub final : public ProtocolEndpoint, public Observer {
 public:
  explicit CompatHub(Hub& hub);
  ~CompatHub() override;
  CompatHub(const CompatHub&) = delete;
  CompatHub& operator=(const CompatHub&) = delete;

  std::optional<ClientId> connect(std::int64_t now_ns) override;
  void disconnect(ClientId client) override;
  bool receive(ClientId client, std::string_view text, std::int64_t now_ns) override;
  bool count_message(ClientId client, std::int64_t now_ns) override;
  bool next(ClientId client, std::int64_t now_ns, Outgoing& message) override;
  bool next_reply(ClientId client, std::string& text) override;
  bool has_received_all(ClientId client) const override;
  UnauthenticatedBudget* budget() override { return &budget_; }

  void receive_key(const LatestViewCache::Key& key, std::int64_t now_ns) override;
  void handle(const capture::Notice& notice) override;
  void handle(const Asker& asker, const nlohmann::json& reply) override;
  void receive_end() override { has_ended_ = true; }
  /// Call periodically: reports flags for which no views arrive.
  void tick(std::int64_t now_ns);

 private:
  /// A flag that a client has switched on.
  struct Seen {
    CompatLens lens;
    std::vector<std::uint32_t> capture_requests;
    /// Number of tokens of the generated text for which values were sent, by tensor key.
    std::map<std::uint64_t, std::uint64_t> sent_tokens;
    bool has_view = false;
    bool has_complained = false;
  };
  enum class Mode : std::uint8_t { kIdle, kTraining, kGenerating };
  /// A view to be sent.
  struct Waiting {
    LatestViewCache::Key key;
    ViewPointer view;  ///< null: use the latest view at the time of sending
  };

  struct Client {
    explicit Client(UnauthenticatedBudget& budget) : turn(&budget) {}

    UnauthenticatedTurn turn;  ///< turn of the budget for sending
    Mode mode = Mode::kIdle;
    CompatForm form = CompatForm::kMegatronApp;
    std::vector<Seen> seen;
    std::deque<Waiting> waiting;
    std::size_t waiting_bytes = 0;  ///< bytes of the views in `waiting`
    std::deque<std::string> replies;
    std::size_t reply_bytes = 0;
    AnswerQueue answers;
    MessageRate rate;
    bool has_started = false;  ///< `start` was sent
    bool wants_pca = false;    ///< during generation
    std::string finish;  ///< message `finish`, which is sent after the views of the last step;
                         ///< empty: not received
    std::optional<std::int64_t> finish_ns;  ///< when `finish` could first have been sent
    TextProgress progress;
    std::optional<std::int64_t> first_step;
    std::int64_t last_step = 0;
    std::int64_t first_ns = 0;  ///< when the first view arrived
    std::int64_t since_ns = 0;  ///< when the request arrived
    std::uint64_t since_steps = 0;
    bool is_held = false;  ///< the budget was closed when the client was last served
    bool has_been_reported_of_budget = false;
    bool has_received_end = false;
  };

  Client* find(ClientId id);
  void reply(Client& client, std::string text);
  void refuse(Client& client, const std::string& sentence);
  void complain(Client& client, Seen& seen, const std::string& problem);
  static void forget_views(Client& client);
  void stop(ClientId id, Client& client);
  /// Starts to send the tensors of the flags. Returns false if the request was refused.
  bool watch(Client& client, const CompatWatch& request, std::int64_t now_ns);
  bool add_flag(Client& client, const WantedFlag& wanted, std::string& problem);
  bool ask_ranks(Seen& seen);
  void generate(ClientId id, Client& client, CompatGenerate&& request, std::int64_t now_ns);
  void receive_view(Client& client, Seen& seen, Waiting&& waiting, std::int64_t now_ns);
  void wait(Client& client, Waiting&& waiting);
  void skip_update(Client& client);
  bool may_show(Client& client, std::int64_t now_ns);
  static bool is_after_text(const Client& client, const Seen& seen, const View& view);
  bool next_view(Client& client, std::string& text);
  std::optional<std::string> text_of(Client& client, Seen& seen, const View& view);
  bool keep_new_tokens(Client& client, Seen& seen, const View& view, Numbers& numbers);
  bool has_last_views(Client& client, std::int64_t now_ns) const;
  std::string start_text(const Client& client) const;
  std::int32_t layer_count() const;
  std::string names_of(CompatFlag flag) const;
  /// Returns the global shape of a tensor that the flag selects; empty if no such tensor is known.
  std::vector<std::uint64_t> known_shape(CompatFlag flag) const;

  Hub& hub_;
  UnauthenticatedBudget budget_;
  VectorCache vectors_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
  bool has_ended_ = false;
};

}  // namespace megascope::live
