#pragma once

#include "core/record/call.h"

#include <cstdint>

/// What facts about files tell, and how it lies in a Fact: whoever makes or reads one does it here.
///
///   all        peer = file, comm = the communicator on which it was opened
///   transfers  bytes = requested, bytes_received = requested - transferred, so that a whole
///   transfer is short;
///              tag and sequence = offset + 1 (0: none was given), top bit of sequence: collective
///   seek       bytes = what was asked for, bytes_received = where that led to, tag = whence
namespace megascope {

/// No offset was given, or it is not known.
inline constexpr std::uint64_t kNoOffset = 0xFFFFFFFFFFFFFFFF;

constexpr bool is_file_fact(FactKind kind) {
  return kind >= FactKind::kFileOpened && kind <= FactKind::kFileUsed;
}
/// Starts a transfer, blocking ones included.
constexpr bool starts_transfer(FactKind kind) {
  return kind >= FactKind::kFileRead && kind <= FactKind::kFileWriteRequest;
}
/// Ends a transfer, blocking ones included: its bytes are known.
constexpr bool ends_transfer(FactKind kind) {
  return kind == FactKind::kFileRead || kind == FactKind::kFileWrite ||
         kind == FactKind::kFileReadComplete || kind == FactKind::kFileWriteComplete;
}
constexpr bool is_file_write(FactKind kind) {
  return kind == FactKind::kFileWrite || kind == FactKind::kFileWriteRequest ||
         kind == FactKind::kFileWriteComplete;
}

constexpr FileId file_of(const Fact& fact) { return static_cast<FileId>(fact.peer); }

/// A fact that names a file. bytes: of kFileSize and kFileView.
constexpr Fact file_fact(FactKind kind, FileId file, CommId comm, std::uint64_t bytes = 0) {
  return {.kind = kind, .comm = comm, .peer = static_cast<std::int32_t>(file), .bytes = bytes};
}

/// Bytes that a call asked for, and where. offset: in elementary types of the file's view, as the
/// program gave it.
struct FileAccess {
  std::uint64_t offset = kNoOffset;
  std::uint64_t requested = 0;
  bool is_collective = false;

  bool operator==(const FileAccess&) const = default;
};

/// The bytes count as transferred until set_transferred() says otherwise.
constexpr Fact transfer_fact(FactKind kind, FileId file, CommId comm, const FileAccess& access) {
  Fact fact = file_fact(kind, file, comm, access.requested);
  const std::uint64_t offset = access.offset + 1;
  fact.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset));
  fact.sequence = static_cast<std::uint32_t>(offset >> 32) & 0x7FFFFFFF;
  if (access.is_collective) fact.sequence |= 0x80000000;
  return fact;
}
/// bytes: what MPI says. Of a count that cannot be, a negative one is taken for nothing, which is
/// what Open MPI means by it (a read that failed and is not told), and another one for all: the
/// library may have left it as it was.
constexpr void set_transferred(Fact& fact, std::uint64_t bytes) {
  if (static_cast<std::int64_t>(bytes) < 0) bytes = 0;
  fact.bytes_received = bytes < fact.bytes ? fact.bytes - bytes : 0;
}
constexpr std::uint64_t transferred(const Fact& fact) { return fact.bytes - fact.bytes_received; }
constexpr FileAccess access_of(const Fact& fact) {
  const std::uint64_t offset = static_cast<std::uint32_t>(fact.tag) |
                               std::uint64_t{fact.sequence & 0x7FFFFFFF} << 32;
  return {.offset = offset - 1,
          .requested = fact.bytes,
          .is_collective = (fact.sequence & 0x80000000) != 0};
}

enum class SeekFrom : std::int32_t { kStart, kCurrent, kEnd };

/// In elementary types of the file's view. reached: kNoOffset when nobody knows without asking
/// others.
struct FileSeek {
  std::int64_t asked = 0;
  SeekFrom from = SeekFrom::kStart;
  std::uint64_t reached = kNoOffset;

  bool operator==(const FileSeek&) const = default;
};
constexpr Fact seek_fact(FileId file, CommId comm, const FileSeek& seek) {
  Fact fact = file_fact(FactKind::kFileSeek, file, comm, static_cast<std::uint64_t>(seek.asked));
  fact.tag = static_cast<std::int32_t>(seek.from);
  fact.bytes_received = seek.reached;
  return fact;
}
constexpr FileSeek seek_of(const Fact& fact) {
  const bool is_known = fact.tag >= 0 && fact.tag <= static_cast<std::int32_t>(SeekFrom::kEnd);
  return {.asked = static_cast<std::int64_t>(fact.bytes),
          .from = is_known ? static_cast<SeekFrom>(fact.tag) : SeekFrom::kStart,
          .reached = fact.bytes_received};
}

}  // namespace megascope
