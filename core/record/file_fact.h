#pragma once

#include "core/record/call.h"

#include <cstdint>

/// Facts about files and their encoding in a Fact. Only the functions of this header interpret
/// these fields:
/// - all: peer = file, comm = communicator that opened it
/// - transfers: bytes = requested; bytes_received = requested - transferred, so that a complete
///   transfer is encoded short; tag and sequence = offset + 1 (0: no offset given); top bit of
///   sequence: collective
/// - seek: bytes = requested offset, bytes_received = resulting offset, tag = whence
namespace megascope {

/// No offset was given, or it is unknown.
inline constexpr std::uint64_t kNoOffset = 0xFFFFFFFFFFFFFFFF;

constexpr bool is_file_fact(FactKind kind) {
  return kind >= FactKind::kFileOpened && kind <= FactKind::kFileUsed;
}
/// Returns whether the fact starts a transfer; includes blocking ones.
constexpr bool starts_transfer(FactKind kind) {
  return kind >= FactKind::kFileRead && kind <= FactKind::kFileWriteRequest;
}
/// Returns whether the fact completes a transfer, so that its bytes are known; includes blocking
/// ones.
constexpr bool ends_transfer(FactKind kind) {
  return kind == FactKind::kFileRead || kind == FactKind::kFileWrite ||
         kind == FactKind::kFileReadComplete || kind == FactKind::kFileWriteComplete;
}
constexpr bool is_file_write(FactKind kind) {
  return kind == FactKind::kFileWrite || kind == FactKind::kFileWriteRequest ||
         kind == FactKind::kFileWriteComplete;
}

constexpr FileId file_of(const Fact& fact) { return static_cast<FileId>(fact.peer); }

/// Makes a fact about a file. bytes: for kFileSize and kFileView only.
constexpr Fact file_fact(FactKind kind, FileId file, CommId comm, std::uint64_t bytes = 0) {
  return {.kind = kind, .comm = comm, .peer = static_cast<std::int32_t>(file), .bytes = bytes};
}

/// Requested bytes and position of a transfer. offset: in elementary types of the file view, as the
/// application passed it.
struct FileAccess {
  std::uint64_t offset = kNoOffset;
  std::uint64_t requested = 0;
  bool is_collective = false;

  bool operator==(const FileAccess&) const = default;
};

/// Makes the fact of a transfer. All requested bytes count as transferred until set_transferred().
constexpr Fact transfer_fact(FactKind kind, FileId file, CommId comm, const FileAccess& access) {
  Fact fact = file_fact(kind, file, comm, access.requested);
  const std::uint64_t offset = access.offset + 1;
  fact.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset));
  fact.sequence = static_cast<std::uint32_t>(offset >> 32) & 0x7FFFFFFF;
  if (access.is_collective) fact.sequence |= 0x80000000;
  return fact;
}
/// Sets the transferred bytes, as MPI reports them. A negative count means 0 (Open MPI returns it
/// for a failed read without an error code); a count larger than requested means all, because the
/// library may not have set it.
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

/// Stores a number in the request field of a blocking transfer or kFileSync, which have no request.
/// For readers that have to identify the fact between the begin and the end of the call.
constexpr void set_number(Fact& fact, RequestId number) { fact.request = number; }

enum class SeekFrom : std::int32_t { kStart, kCurrent, kEnd };

/// A seek. asked: offset argument. reached: resulting offset; kNoOffset if finding it would need
/// communication. Offsets are in elementary types of the file view.
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
