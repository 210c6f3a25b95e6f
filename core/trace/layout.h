#pragma once

#include "core/encoding/encoding.h"
#include "core/record/definitions.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Layout of the native trace of one process: a header page, then chunks. A chunk has one kind and,
/// for events, one location. Little endian. The file is written through shared mappings, so that it
/// contains everything stored when the process has ended, also after a kill. Exception: on network
/// and copy-on-write file systems a kill loses the chunk in use of each location
/// (Backing::kWritten). docs/trace_format.md is the reference. `kFormatVersion` changes only if a
/// reader of the old format could misread a new file.
namespace megascope::trace {

inline constexpr char kFileMagic[8] = {'M', 'G', 'S', 'C', 'O', 'P', 'E', '\n'};
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::uint32_t kOldestFormatVersion = 1;  ///< without packed chunks
inline constexpr std::uint32_t kChunkMagic = 0x4B4E4843;  // "CHNK"
inline constexpr std::size_t kFileHeaderBytes = 4096;
inline constexpr std::size_t kChunkAlignment = 4096;
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 26;
inline constexpr std::size_t kMaxPackedChunkBytes = std::size_t{1} << 20;  ///< unpacked
inline constexpr std::size_t kMaxLossCauses = 64;  ///< space for loss causes in the header page

/// Content of a chunk.
enum class ChunkKind : std::uint32_t {
  kEvents = 1,       ///< MPI calls of a location (core/encoding/encoding.h)
  kDefinitions = 2,  ///< definition records
  kHooks = 3,  ///< annotations of a location (core/encoding/hook_words.h), with sequence numbers of
               ///< their own
  kFree = 4    ///< space whose chunk was dropped; no content
};

/// A call that was entered and has not returned: its first words as they would be recorded, with
/// duration 0. It is not cleared when the call returns. A reader recognises a call that has
/// returned, because word 0 then equals that of the last record.
/// - If all words are 0, the thread has ended.
/// - If word 0 does not hold a region, the thread's current call is unknown.
/// - The arguments are stored as in the words of a recorded call, with three exceptions. A
///   send-receive (kSendrecv) has peers and tags only. A probe has a kRecv with the peer and tag
///   that it searches for. A completion call has a kRequestTest with the number of requests in
///   `bytes`.
struct PendingCall {
  encoding::Word words[4];
};
inline constexpr encoding::Word kUnknownCall = encoding::Word{1} << 16;

/// Header of a chunk. One writer thread. `used_bytes` is stored with release order after the words
/// it covers. If packed_words is not 0, the chunk is packed: the used bytes after the header unpack
/// to so many words (core/encoding/packed_words.h), and they never change.
struct ChunkHeader {
  std::uint32_t magic;
  std::uint32_t chunk_bytes;              ///< including the header; a multiple of kChunkAlignment
  std::atomic<std::uint64_t> used_bytes;  ///< from the start of the chunk, including the header
  std::uint64_t base_ticks;               ///< time base at the first record
  std::uint64_t lost_before;  ///< records of this location that were dropped before this chunk
  PendingCall pending[1];     ///< call of depth 0; in the cache line of used_bytes
  ChunkKind kind;
  std::uint32_t location;
  std::uint32_t sequence;  ///< number among the location's chunks, from 0. A number is missing only
                           ///< if its chunk was overwritten
  std::uint32_t packed_words;  ///< 0: not packed, as always in format version 1
  std::uint64_t moment_ticks;  ///< one moment on three clocks, taken when the chunk was begun
  std::int64_t moment_monotonic_ns;
  std::int64_t moment_realtime_ns;
  std::uint64_t checksum;      ///< of a packed chunk (checksum_of())
  std::uint64_t packed_calls;  ///< of a packed chunk: its calls, or records of annotations
  std::uint64_t reserved_word;
};
static_assert(sizeof(ChunkHeader) == 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::int32_t world_rank;
  std::int32_t world_size;
  std::int64_t pid;
  std::uint32_t clock_kind;  ///< ClockKind
  std::uint32_t thread_level;
  std::uint32_t end_state;  ///< EndState
  std::uint32_t is_standalone;
  std::uint64_t start_ticks;         ///< start of recording
  std::uint64_t first_moment_ticks;  ///< one moment on three clocks, before MPI was started
  std::int64_t first_moment_monotonic_ns;
  std::int64_t first_moment_realtime_ns;
  std::uint64_t end_ticks;  ///< 0 while running
  std::int64_t end_monotonic_ns;
  std::int64_t end_realtime_ns;
  std::atomic<std::uint64_t> overhead_ticks;
  char run_id[64];  ///< NUL-terminated
  std::atomic<std::uint64_t> losses[kLossCauseCount];
  std::uint64_t reserved_losses[kMaxLossCauses - kLossCauseCount];  ///< 0; for future causes
  std::uint64_t pid_namespace;  ///< ProcessIdentity of the writer; 0 and empty: not recorded, as in
                                ///< files of version 0.1
  std::uint64_t process_start_ticks;
  char boot_id[40];         ///< NUL-terminated
  std::uint32_t is_mapped;  ///< 1: the writer maps this page as long as it writes. 0: it does not,
                            ///< or not recorded
  std::uint32_t reserved_flags;
};
static_assert(sizeof(FileHeader) <= kFileHeaderBytes);
static_assert(offsetof(FileHeader, pid_namespace) == 688);
static_assert(offsetof(FileHeader, is_mapped) == 744);

/// Definition records: a header word (kind, bytes of payload), the payload, zero padding to the
/// next word.
inline constexpr std::size_t kDefinitionHeaderBytes = 8;
enum class DefinitionKind : std::uint32_t {
  kProperty = 1,
  kRegion = 2,
  kComm = 3,
  kCommName = 4,
  kLocation = 5,
  kOneSided = 6,
  kFile = 7,
  kCallSite = 8,
  kClockSample = 9,
  kCounter = 10,
  kTensor = 11,
  kLocationName = 12,
};
/// Object that a kOneSided record defines: the first byte of its payload.
enum class OneSidedDefinition : std::uint8_t { kWindow = 0, kWindowName = 1, kGroup = 2 };

/// Names of properties, whose values are strings.
inline constexpr char kPropertyHost[] = "host";
inline constexpr char kPropertyProgram[] = "program";
inline constexpr char kPropertyCommandLine[] = "command_line";
inline constexpr char kPropertyMpiLibrary[] = "mpi_library";
inline constexpr char kPropertyJob[] = "job";
inline constexpr char
    kPropertyRunDirectory[] = "run_folder";  ///< as requested; rank 0 may have appended a number
inline constexpr char kPropertyWorld[] = "world";
inline constexpr char kPropertyParentWorld[] = "parent_world";
inline constexpr char kPropertyClockDomain[] = "clock_domain";
inline constexpr char
    kPropertyInterface[] = "interface";  ///< "c", "fortran" or "fortran08"; one property for each
inline constexpr char
    kPropertyUnrecorded[] = "unrecorded";  ///< name of a procedure that was called and cannot be
                                           ///< recorded; one property for each procedure
inline constexpr char
    kPropertyParallel[] = "parallel";            ///< "<name> <index> <size>"; one property for each
                                                 ///< dimension, the last one is valid
inline constexpr char kPropertyCpus[] = "cpus";  ///< megascope::to_text(NodeCpus)
inline constexpr char
    kPropertyMessageGaps[] = "message_gaps";  ///< any value: recording was off for some messages

/// Returns the size in the file of a chunk with so many bytes.
inline constexpr std::size_t chunk_space(std::size_t bytes) {
  return (bytes + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
}

inline encoding::Word* first_word(ChunkHeader* chunk) {
  return reinterpret_cast<encoding::Word*>(chunk + 1);
}
inline const encoding::Word* first_word(const ChunkHeader* chunk) {
  return reinterpret_cast<const encoding::Word*>(chunk + 1);
}

}  // namespace megascope::trace
