#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::live {

class GuestBudget;

/// One message for a client.
struct Outgoing {
  bool is_text = false;
  std::string text;
  std::vector<std::byte> frame;
};

/// Those who speak one protocol, as their sockets see them: what a client says goes in, what it is
/// to get comes out. Times are handed in, ns since the epoch. One thread.
class Party {
 public:
  using ClientId = std::uint64_t;

  virtual ~Party() = default;
  /// nullopt: there are as many as it serves (bounds.h).
  virtual std::optional<ClientId> connect(std::int64_t now_ns) = 0;
  virtual void disconnect(ClientId client) = 0;
  /// False: it is to be closed (1008): it says too much, or does not take what it asked for.
  virtual bool receive(ClientId client, std::string_view text, std::int64_t now_ns) = 0;
  /// A message that is none (a ping): counts for the rate. False: as receive().
  virtual bool count_message(ClientId client, std::int64_t now_ns) = 0;
  /// The next message for it; false: there is none now.
  virtual bool next(ClientId client, std::int64_t now_ns, Outgoing& message) = 0;
  /// Of what next() gives only what it asked for; for one that is about to be closed.
  virtual bool next_reply(ClientId client, std::string& text) = 0;
  /// What serving its clients may cost, as they show no token; nullptr: they showed it, and there
  /// is no budget.
  virtual GuestBudget* budget() { return nullptr; }
  /// It has received all but the verdict, which follows or not.
  virtual bool is_waiting_for_verdict(ClientId /*client*/) const { return false; }
  /// The run is over, and it was told.
  virtual bool has_heard_all(ClientId client) const = 0;
};

}  // namespace megascope::live
