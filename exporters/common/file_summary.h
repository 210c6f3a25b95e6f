#pragma once

#include "core/record/file_fact.h"
#include "exporters/common/call_arguments.h"

#include <cstdint>

namespace megascope::timeline {

/// Summary of the file accesses in the facts of a call.
struct FileSummary {
  const Fact* first = nullptr;
  bool is_of_one_file = true;
  CommId comm = kNoComm;        ///< communicator of all accesses; kNoComm if they differ
  std::uint64_t started = 0;    ///< nonblocking transfers started
  std::uint64_t ended = 0;      ///< transfers whose bytes are known
  std::uint64_t requested = 0;  ///< bytes requested, of started and ended transfers
  std::uint64_t transferred_bytes = 0;

  /// Adds a fact. It must stay valid until tell() has returned.
  void add(const Fact& fact) {
    if (first == nullptr) {
      first = &fact;
      comm = fact.comm;
    }
    is_of_one_file = is_of_one_file && file_of(fact) == file_of(*first);
    if (fact.comm != comm) comm = kNoComm;
    const bool ends = ends_transfer(fact.kind);
    if (!ends && !starts_transfer(fact.kind)) return;
    ++(ends ? ended : started);
    requested += fact.bytes;
    if (ends) transferred_bytes += transferred(fact);
  }

  /// Adds the summary to a call's arguments. has_messages: the call also has messages.
  void report(CallArguments& to, bool has_messages) const {
    if (first == nullptr) return;
    if (is_of_one_file) to.add(ArgumentName::kFile, Argument::Kind::kFile, file_of(*first));
    if (first->kind == FactKind::kFileSize) add_number(to, ArgumentName::kSize, first->bytes);
    if (const std::uint64_t offset = shown_offset(); offset != kNoOffset)
      add_number(to, ArgumentName::kOffset, offset);
    if (started + ended > 1) add_number(to, ArgumentName::kTransfers, started + ended);
    if (ended > 0)
      add_number(to, has_messages ? ArgumentName::kFileBytes : ArgumentName::kBytes,
                 transferred_bytes);
    if (started > 0 || requested != transferred_bytes)
      add_number(to, ArgumentName::kBytesRequested, requested);
  }

 private:
  static void add_number(CallArguments& to, ArgumentName name, std::uint64_t number) {
    to.add(name, Argument::Kind::kNumber, static_cast<std::int64_t>(number));
  }
  std::uint64_t shown_offset() const {
    if (first->kind == FactKind::kFileSeek) return seek_of(*first).reached;
    if (first->kind == FactKind::kFileView || started + ended == 1) return access_of(*first).offset;
    return kNoOffset;
  }
};

}  // namespace megascope::timeline
