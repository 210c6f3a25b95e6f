#pragma once

#include "core/record/event_view.h"
#include "exporters/common/call_arguments.h"

#include <cstdint>
#include <utility>

namespace megascope::timeline {

/// Summary of the file accesses in the facts of a call.
struct FileSummary {
  FileId file = kNoFile;  ///< file of the first access
  bool is_used = false;   ///< true: the call has at least one access
  bool is_of_one_file = true;
  bool is_moved = false;             ///< the first access sets the file pointer or the view
  bool has_size = false;             ///< the first access sets or returns the size
  std::uint64_t offset = kNoOffset;  ///< offset of the first access
  std::uint64_t size = 0;
  CommId comm = kNoComm;        ///< communicator of all accesses; kNoComm if they differ
  std::uint64_t started = 0;    ///< nonblocking transfers started
  std::uint64_t ended = 0;      ///< transfers whose bytes are known
  std::uint64_t requested = 0;  ///< bytes requested, of started and ended transfers
  std::uint64_t transferred_bytes = 0;

  void add(events::FileTransfer transfer) {
    const FileAccess access = transfer.access();
    if (add_access(transfer)) offset = access.offset;
    const bool ends = transfer.has_ended();
    if (!ends && !transfer.is_start()) return;
    ++(ends ? ended : started);
    requested += access.requested;
    if (ends) transferred_bytes += transfer.transferred();
  }
  void add(events::FileUse use) {
    using Use = events::FileUse::Use;
    if (!add_access(use)) return;
    is_moved = use.use() == Use::kSeek || use.use() == Use::kView;
    if (is_moved) offset = use.use() == Use::kSeek ? use.seek().reached : use.offset();
    has_size = use.use() == Use::kSize;
    if (has_size) size = use.size();
  }

  /// Adds the summary to a call's arguments. has_messages: the call also has messages.
  void report(CallArguments& to, bool has_messages) const {
    if (!is_used) return;
    if (is_of_one_file) to.add(ArgumentName::kFile, Argument::Kind::kFile, file);
    if (has_size) add_number(to, ArgumentName::kSize, size);
    if (offset != kNoOffset && (is_moved || started + ended == 1))
      add_number(to, ArgumentName::kOffset, offset);
    if (started + ended > 1) add_number(to, ArgumentName::kTransfers, started + ended);
    if (ended > 0)
      add_number(to, has_messages ? ArgumentName::kFileBytes : ArgumentName::kBytes,
                 transferred_bytes);
    if (started > 0 || requested != transferred_bytes)
      add_number(to, ArgumentName::kBytesRequested, requested);
  }

 private:
  /// Returns whether the access is the first one.
  bool add_access(events::OnFile access) {
    const bool is_first = !std::exchange(is_used, true);
    if (is_first) {
      file = access.file();
      comm = access.comm();
    }
    is_of_one_file = is_of_one_file && access.file() == file;
    if (access.comm() != comm) comm = kNoComm;
    return is_first;
  }
  static void add_number(CallArguments& to, ArgumentName name, std::uint64_t number) {
    to.add(name, Argument::Kind::kNumber, static_cast<std::int64_t>(number));
  }
};

}  // namespace megascope::timeline
