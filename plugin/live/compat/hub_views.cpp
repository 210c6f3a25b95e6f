#include "plugin/live/compat/answers.h"
#include "plugin/live/compat/hub.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/json_fields.h"
#include "plugin/live/protocol/unauthenticated_budget.h"
#include "plugin/live/views/view_assembler.h"
#include "plugin/tensors/tensor_choice.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

/// Handling of assembled views.
namespace megascope::live {
namespace {

using Json = nlohmann::json;

/// `start` is sent after this time or after kFirstSteps steps, whichever comes first. It lacks
/// layers that are reported later.
constexpr std::int64_t kFirstStepNs = 1'500'000'000;
/// The number of steps for which a view waits for the parts of other ranks.
constexpr std::int64_t kFirstSteps = ViewAssembler::kTimeoutBlocks;
constexpr std::int64_t kSilenceNs = 5'000'000'000;
constexpr std::uint64_t kSilentSteps = 8;
constexpr std::size_t kMaxNamesReported = 12;
/// How long after the end of a text its last views are awaited.
constexpr std::int64_t kLastViewsNs = 1'000'000'000;

bool has(const std::vector<std::uint32_t>& capture_requests, std::uint32_t capture_request) {
  return std::ranges::find(capture_requests, capture_request) != capture_requests.end();
}

/// Adds an offset to the positions of input tokens.
void move_positions(Numbers& numbers, std::uint64_t others) {
  const auto second_half = numbers.values.begin() +
                           static_cast<std::ptrdiff_t>(numbers.values.size() / 2);
  for (auto at = second_half; at != numbers.values.end(); ++at) *at += static_cast<float>(others);
}

}  // namespace

void CompatHub::receive_key(const LatestViewCache::Key& key, std::int64_t now_ns) {
  for (auto& [id, client] : clients_) {
    for (Seen& seen : client.seen) {
      const ViewPointer view = has(seen.capture_requests, key.first) ? hub_.store().cache.find(key)
                                                                     : nullptr;
      if (view != nullptr) receive_view(client, seen, {key, view}, now_ns);
    }
  }
}

void CompatHub::receive_view(Client& client, Seen& seen, Waiting&& waiting, std::int64_t now_ns) {
  const View& view = *waiting.view;
  seen.has_view = true;
  if (!client.first_step) {
    client.first_step = view.step;
    client.first_ns = now_ns;
  }
  client.last_step = std::max(client.last_step, view.step);
  if (seen.lens.learn(view.full_shape)) {
    if (!ask_ranks(seen))
      complain(client, seen, "too many capture requests of all clients together");
    return;
  }
  wait(client, std::move(waiting));
}

/// Queues a view. During generation every step's rows are sent, even to a slow client, up to
/// kMaxTextViewBytes; otherwise only the latest view is kept.
void CompatHub::wait(Client& client, Waiting&& waiting) {
  if (!client.finish.empty() && client.progress.is_ahead(waiting.view->step))
    return;  // training goes on; it must not take the space of the text's last views
  const std::size_t bytes = bytes_of(*waiting.view);
  if (client.mode == Mode::kGenerating && client.waiting_bytes + bytes <= kMaxTextViewBytes) {
    client.waiting_bytes += bytes;
    return client.waiting.push_back(std::move(waiting));
  }
  const auto is_same = [&](const Waiting& other) {
    return other.view == nullptr && other.key == waiting.key;
  };
  if (std::ranges::none_of(client.waiting, is_same))
    client.waiting.push_back({waiting.key, nullptr});
  else if (client.is_held)
    skip_update(client);
}

void CompatHub::forget_views(Client& client) {
  client.waiting.clear();
  client.waiting_bytes = 0;
}

/// Counts a view that was replaced while the budget was closed.
void CompatHub::skip_update(Client& client) {
  budget_.count_skipped();
  if (!std::exchange(client.has_been_reported_of_budget, true))
    refuse(client, "Updates are skipped: " + budget_text(hub_.settings()) + ".");
}

void CompatHub::handle(const capture::Notice& notice) {
  for (auto& [id, client] : clients_) {
    for (Seen& seen : client.seen) {
      if (has(seen.capture_requests, notice.capture_request)) complain(client, seen, notice.text);
    }
  }
}

void CompatHub::complain(Client& client, Seen& seen, const std::string& problem) {
  if (std::exchange(seen.has_complained, true)) return;
  refuse(client, std::string(row_of(seen.lens.flag()).name) + ": " + problem.substr(0, 512) + ".");
}

void CompatHub::tick(std::int64_t now_ns) {
  for (auto& [id, client] : clients_) {
    const bool is_long = now_ns - client.since_ns > kSilenceNs &&
                         hub_.steps() - client.since_steps > kSilentSteps;
    if (client.mode != Mode::kTraining || !is_long) continue;
    for (Seen& seen : client.seen) {
      if (!seen.has_view) complain(client, seen, names_of(seen.lens.flag()));
    }
  }
}

/// Error text for a flag without views, with the names of similar tensors.
std::string CompatHub::names_of(CompatFlag flag) const {
  const CompatFlagRow& row = row_of(flag);
  std::string text = "no tensor matches the name " + std::string(row.patterns[0]);
  if (!row.patterns[1].empty()) text += " or " + std::string(row.patterns[1]);
  text += " and the kind " + std::string(kTensorKindNames[static_cast<std::size_t>(row.kind)]);
  std::set<std::string> names;
  const TensorCatalog& known = hub_.store().tensors;
  for (std::uint32_t id = 0; id < known.size() && names.size() < kMaxNamesReported; ++id) {
    if (known[id].is_named) names.insert(known[id].name.name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? text : text + "; available: " + list;
}

std::vector<std::uint64_t> CompatHub::known_shape(CompatFlag flag) const {
  const CompatFlagRow& row = row_of(flag);
  const TensorCatalog& known = hub_.store().tensors;
  for (std::uint32_t id = 0; id < known.size(); ++id) {
    const capture::TensorName& name = known[id].name;
    const bool is_like = std::ranges::any_of(row.patterns, [&](std::string_view like) {
      return !like.empty() && tensors::matches(like, name.name);
    });
    if (known[id].is_named && is_like && name.kind == row.kind) return name.shape;
  }
  return {};
}

std::int32_t CompatHub::layer_count() const {
  std::int32_t layers = 0;
  const TensorCatalog& known = hub_.store().tensors;
  for (std::uint32_t id = 0; id < known.size(); ++id) {
    const capture::TensorName& name = known[id].name;
    if (known[id].is_named && name.kind == TensorKind::kActvOut)
      layers = std::max(layers, name.layer + 1);
  }
  return layers;
}

/// Whether views may be sent. During training, `start` must come first and has the number of
/// layers, so it is delayed (kFirstSteps, kFirstStepNs).
bool CompatHub::may_show(Client& client, std::int64_t now_ns) {
  if (client.has_started) return true;
  if (client.mode != Mode::kTraining || !client.first_step || client.waiting.empty()) return false;
  return client.last_step >= *client.first_step + kFirstSteps ||
         now_ns - client.first_ns > kFirstStepNs || has_ended_;
}

std::string CompatHub::start_text(const Client& client) const {
  std::uint64_t sequences = 1;
  std::uint64_t tokens = 1;
  for (const Seen& seen : client.seen) {
    if (seen.lens.tokens() == 0) continue;
    sequences = seen.lens.sequences();
    tokens = seen.lens.tokens();
  }
  return dumped({{"type", "start"},
                 {"micro_batch_size", sequences},
                 {"seq_length", tokens},
                 {"num_layers", layer_count()}});
}

/// Whether a view is of a step after the text's last one, where training goes on. Without the steps
/// of the tokens, a tensor whose last view was sent has no further one.
bool CompatHub::is_after_text(const Client& client, const Seen& seen, const View& view) {
  if (client.mode != Mode::kGenerating || client.finish.empty()) return false;
  const auto sent = seen.sent_tokens.find(view.key);
  return client.progress.is_ahead(view.step) ||
         (sent != seen.sent_tokens.end() && sent->second >= client.progress.end());
}

bool CompatHub::next_view(Client& client, std::string& text) {
  while (!client.waiting.empty()) {
    const Waiting one = client.waiting.front();
    const ViewPointer view = one.view != nullptr ? one.view : hub_.store().cache.find(one.key);
    // Of a rank that is ahead of the one that reports tokens: the text may have ended before.
    if (view != nullptr && client.finish.empty() && client.progress.is_ahead(view->step))
      return false;
    client.waiting.pop_front();
    if (one.view != nullptr) client.waiting_bytes -= bytes_of(*one.view);
    const auto seen = std::ranges::find_if(
        client.seen, [&](const Seen& other) { return has(other.capture_requests, one.key.first); });
    if (view == nullptr || seen == client.seen.end() || is_after_text(client, *seen, *view))
      continue;
    std::optional<std::string> made = text_of(client, *seen, *view);
    if (!made) continue;
    text = std::move(*made);
    return true;
  }
  return false;
}

/// During generation, removes the tokens that were already sent: the application may compute all
/// tokens in every step. Rows are numbered from the start of the text, even if the application
/// computes only its end. False: the result is too large.
bool CompatHub::keep_new_tokens(Client& client, Seen& seen, const View& view, Numbers& numbers) {
  const bool is_attention = seen.lens.flag() == CompatFlag::kScores;
  const auto [rows, counted] = seen.lens.token_dimensions(numbers);
  const std::uint64_t extent = numbers.values.empty() ? seen.lens.tokens() : numbers.shape[counted];
  std::uint64_t& sent = seen.sent_tokens[view.key];
  const std::uint64_t reach = std::max(client.progress.reach(view.step, extent), sent + 1);
  const std::uint64_t fresh = reach - std::exchange(sent, reach);
  if (numbers.values.empty()) return true;
  if (seen.lens.has_positions()) move_positions(numbers, reach - extent);
  keep_last(numbers, rows, fresh);
  const std::uint64_t wanted = is_attention ? reach : fresh;
  if (numbers.values.size() / numbers.shape[counted] * wanted > kMaxCompatNumbers) return false;
  pad_front(numbers, counted, wanted,
            is_attention ? 0.0F : std::numeric_limits<float>::quiet_NaN());
  return true;
}

/// Whether the views of the last step have arrived. They may arrive after `finish`, which comes
/// from another rank.
bool CompatHub::has_last_views(Client& client, std::int64_t now_ns) const {
  if (!client.finish_ns) client.finish_ns = now_ns;
  if (has_ended_ || now_ns - *client.finish_ns > kLastViewsNs) return true;
  const auto layers = static_cast<std::size_t>(layer_count());
  return std::ranges::all_of(client.seen, [&](const Seen& seen) {
    const auto is_reported = [&](const auto& sent) { return sent.second >= client.progress.end(); };
    const std::size_t tensors = seen.lens.flag() == CompatFlag::kInputTokens ? 1 : layers;
    return seen.sent_tokens.size() >= tensors && std::ranges::all_of(seen.sent_tokens, is_reported);
  });
}

std::optional<std::string> CompatHub::text_of(Client& client, Seen& seen, const View& view) {
  const std::optional<std::uint32_t> id = hub_.store().tensors.find(view.key);
  const std::int32_t layer = id ? hub_.store().tensors[*id].name.layer : kNoLayer;
  std::string problem;
  (void)seen.lens.learn(view.full_shape);  // newer views may have more tokens
  std::optional<Numbers> numbers = seen.lens.look(view, layer, problem);
  if (!numbers) {
    complain(client, seen, problem);
    return std::nullopt;
  }
  if (client.mode == Mode::kGenerating && !keep_new_tokens(client, seen, view, *numbers)) {
    complain(client, seen, "the text is too long to be shown");
    return std::nullopt;
  }
  return update_text(number_of(seen.lens.flag(), client.form), layer + 1,
                     seen.lens.args_of(*numbers), numbers->values);
}

}  // namespace megascope::live
