#pragma once

#include "core/record/event_view.h"
#include "core/record/value_fact.h"
#include "core/record/world_ranks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace megascope::timeline {

/// The arguments of a call that timelines show in addition to name and time.
enum class ArgumentName : std::uint8_t {
  kComm,              ///< communicator within one world
  kPeer,              ///< world rank of the partner of the only message
  kTag,               ///< tag of the only message
  kBytes,             ///< bytes of messages, of a collective, to a target, or of a file
  kSource,            ///< source of the received message in a call that also sends
  kSourceTag,         ///< tag of the received message in a call that also sends
  kBytesReceived,     ///< bytes received, if they are shown separately from kBytes
  kBufferBytes,       ///< size of the buffers of posted receives
  kMessages,          ///< number of messages sent, if there are several
  kMessagesReceived,  ///< number of messages received, if there are several
  kReceives,          ///< number of posted receives, if there are several
  kRoot,              ///< world rank of the root of a collective
  kError,             ///< error code that the call returned
  kUnfinished,        ///< the call had not returned when the trace ended
  kLeft,              ///< the call did not return normally
  kCancelled,         ///< the operation was cancelled
  kWindow,            ///< window of a one-sided call
  kTarget,            ///< world rank of the target of a one-sided call
  kExclusive,         ///< the lock of a window is exclusive
  kFile,              ///< file of a call
  kOffset,            ///< offset in the file
  kBytesRequested,    ///< bytes of file transfers that were requested
  kTransfers,         ///< number of file transfers, if there are several
  kFileBytes,         ///< bytes of file transfers in a call that also has messages
  kSize,              ///< size of the file
  kCallCount,         ///< number of calls that the record represents, if there are several
  kCallSite,          ///< call site
  kRemoteWorld,       ///< inter-world communicator
  kReady,             ///< a tested request can complete
  kUncertain,         ///< time after the call's begin, in ns, within which it was entered
  kFirstValue,        ///< first name of the values in value_fact.h
};
inline constexpr std::size_t kFirstValueName = static_cast<std::size_t>(ArgumentName::kFirstValue);
inline constexpr std::size_t kArgumentNameCount = kFirstValueName + kValueNameCount;
constexpr ArgumentName argument_of(ValueName value) {
  return static_cast<ArgumentName>(kFirstValueName + static_cast<std::size_t>(value));
}

/// The name of an argument in files, e.g. "bytes_received"; stable.
std::string_view argument_name(ArgumentName name);

/// The text for MPI_ANY_SOURCE and MPI_ANY_TAG.
inline constexpr std::string_view kAnyText = "any";

/// One argument of a call.
struct Argument {
  enum class Kind : std::uint8_t {
    kNumber,
    kReal,      ///< number: bits of a binary64
    kComm,      ///< number: a CommId
    kWindow,    ///< number: a WinId
    kFile,      ///< number: a FileId
    kCallSite,  ///< number: the number of a CallSiteDefinition
    kAny,       ///< a wildcard; no number
    kTrue,
  };
  ArgumentName name = ArgumentName::kComm;
  Kind kind = Kind::kNumber;
  std::int64_t number = 0;

  bool operator==(const Argument&) const = default;
};

/// The arguments of one call. Fixed capacity for all possible arguments; no allocation.
class CallArguments {
 public:
  /// Collects the arguments of a call. Ranks are converted to world ranks.
  /// - One message: peer, tag, bytes. A receive in a call that also sends: source, source_tag,
  ///   bytes_received. Several messages: their number and total bytes.
  /// - Posted receive: source and tag as posted, and the buffer size.
  /// - One-sided: window; target, if there is only one; bytes to the target (bytes) and from the
  ///   target (bytes_received); whether a lock is exclusive.
  /// - File access: file, offset if explicit, bytes transferred, bytes_requested if different. In a
  ///   call that also completes messages, the bytes of files are file_bytes.
  /// - Inter-world communicator: remote_world.
  /// - A message found by a probe, or by a test of a request: as one message. A test also gives
  ///   ready.
  /// - Values: under their own names (value_fact.h). If a name occurs several times, the first
  ///   value is used.
  static CallArguments of(const Call& call, const WorldRanks& world_ranks,
                          std::int32_t my_world_rank);
  /// Returns the arguments that are known of a send or posted receive when it starts, or of a
  /// message when it arrives.
  static CallArguments of_message(const Fact& fact, const WorldRanks& world_ranks);

  /// Return whether of_message() has further arguments when an operation ends with this event.
  static bool is_reported_at_end(events::Completion completion) {
    return completion.way() == events::Completion::Way::kCancelled;
  }
  static constexpr bool is_reported_at_end(events::Receive) { return true; }
  static constexpr bool is_reported_at_end(events::CollectiveCompletion) { return false; }
  static constexpr bool is_reported_at_end(events::FileTransfer) { return true; }

  const Argument* begin() const { return arguments_.data(); }
  const Argument* end() const { return arguments_.data() + count_; }

  void add(ArgumentName name, Argument::Kind kind, std::int64_t number = 0) {
    arguments_[count_++] = {name, kind, number};
  }

 private:
  void add_one_sided(const Fact& fact, const WorldRanks& world_ranks);
  void add_window(events::OneSided event, const WorldRanks& world_ranks);
  void add_values(const Call& call);
  void add_message(events::Message message, const WorldRanks& world_ranks);
  void add_peer(ArgumentName name, CommId comm, std::int32_t peer, const WorldRanks& world_ranks);
  void add_tag(ArgumentName name, std::int32_t tag);
  void add_number(ArgumentName name, std::uint64_t number) {
    add(name, Argument::Kind::kNumber, static_cast<std::int64_t>(number));
  }

  std::array<Argument, kArgumentNameCount> arguments_;  // the first count_ are set
  std::size_t count_ = 0;

  friend struct CallSummary;
};

}  // namespace megascope::timeline
