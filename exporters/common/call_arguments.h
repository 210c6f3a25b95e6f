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
  kComm,
  kPeer,
  kTag,
  kBytes,
  kSource,
  kSourceTag,
  kBytesReceived,
  kBufferBytes,
  kMessages,
  kMessagesReceived,
  kReceives,
  kRoot,
  kError,
  kUnfinished,
  kLeft,
  kCancelled,
  kWindow,
  kTarget,
  kExclusive,
  kFile,
  kOffset,
  kBytesRequested,
  kTransfers,
  kFileBytes,
  kSize,
  kCallCount,
  kCallSite,
  kRemoteWorld,
  kReady,
  kFirstValue,  ///< first name of the values in value_fact.h
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
    kCallSite,  ///< number: of a CallSiteDefinition
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
  /// - One message: peer, tag, bytes (a receive in addition to a send: source, source_tag,
  ///   bytes_received). Several messages: their number and total bytes.
  /// - Posted receive: source and tag as posted, and the buffer size.
  /// - One-sided: window, target if unique, bytes to the target (bytes) and from it
  ///   (bytes_received), whether a lock is exclusive.
  /// - File access: file, offset if explicit, bytes transferred, bytes_requested if different. In a
  ///   call that also completes messages, the bytes of files are file_bytes.
  /// - Inter-world communicator: remote_world.
  /// - A message found by a probe, or by a test of a request (ready): as a message.
  /// - Values: under their own names (value_fact.h), the first of each.
  static CallArguments of(const Call& call, const WorldRanks& world_ranks,
                          std::int32_t my_world_rank);
  /// The known arguments of a send or posted receive when it starts, or of a message when it
  /// arrives.
  static CallArguments of_message(const Fact& fact, const WorldRanks& world_ranks);

  /// Whether of_message() has new information when an operation ends in these ways.
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
