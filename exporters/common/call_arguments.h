#pragma once

#include "core/record/call.h"
#include "core/record/value_fact.h"
#include "core/record/world_ranks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace megascope::timeline {

/// What a timeline says about a call beside its name and time.
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
  kFirstValue,  ///< from here on the values of value_fact.h
};
inline constexpr std::size_t kFirstValueName = static_cast<std::size_t>(ArgumentName::kFirstValue);
inline constexpr std::size_t kArgumentNameCount = kFirstValueName + kValueNameCount;
constexpr ArgumentName argument_of(ValueName value) {
  return static_cast<ArgumentName>(kFirstValueName + static_cast<std::size_t>(value));
}

/// "bytes_received" …: the name of an argument in files; stable.
std::string_view argument_name(ArgumentName name);

/// The word that stands for MPI_ANY_SOURCE and MPI_ANY_TAG.
inline constexpr std::string_view kAnyText = "any";

struct Argument {
  enum class Kind : std::uint8_t {
    kNumber,
    kReal,      ///< number: the bits of a binary64
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

/// The arguments of one call; room for all there can be.
class CallArguments {
 public:
  /// Ranks become world ranks. One message: peer, tag and bytes of it (a receive beside a send:
  /// source, source_tag, bytes_received); several: how many, and the sum of their bytes. A posted
  /// receive: as posted, with the room for it. One-sided: the window, the target where it is one,
  /// the bytes to it (bytes) and from it (bytes_received), whether a lock is exclusive. A call on a
  /// file: file, offset where the program gave one, bytes transferred, bytes_requested where it was
  /// another number. A communicator that reaches into another world is told as remote_world. Of a
  /// call that completes messages as well, the bytes of files are file_bytes. What a probe, or a
  /// look at a request (ready), found is told as a message is; values under their own names
  /// (value_fact.h), the first of each.
  static CallArguments of(const Call& call, const WorldRanks& world_ranks,
                          std::int32_t my_world_rank);
  /// What is known of a send or posted receive when it is started, or of a message when it has
  /// arrived.
  static CallArguments of_message(const Fact& fact, const WorldRanks& world_ranks);

  /// Does of_message() say something new when an operation ends so?
  static bool is_told_at_end(FactKind kind) {
    return kind == FactKind::kRecvComplete || kind == FactKind::kCancelled ||
           kind == FactKind::kFileReadComplete || kind == FactKind::kFileWriteComplete ||
           kind == FactKind::kFileCancelled;
  }

  const Argument* begin() const { return arguments_.data(); }
  const Argument* end() const { return arguments_.data() + count_; }

  void add(ArgumentName name, Argument::Kind kind, std::int64_t number = 0) {
    arguments_[count_++] = {name, kind, number};
  }

 private:
  void add_one_sided(const Fact& fact, const WorldRanks& world_ranks);
  void add_values(const Call& call);
  void add_peer(ArgumentName name, const Fact& fact, const WorldRanks& world_ranks);
  void add_tag(ArgumentName name, std::int32_t tag);
  void add_number(ArgumentName name, std::uint64_t number) {
    add(name, Argument::Kind::kNumber, static_cast<std::int64_t>(number));
  }

  std::array<Argument, kArgumentNameCount> arguments_;  // the first count_ are set
  std::size_t count_ = 0;

  friend struct CallSummary;
};

}  // namespace megascope::timeline
