#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// Files and their handles, unified over the processes (see shared_definitions.h): equal files and
/// openings become one definition.
namespace megascope::otf2 {

/// A file, identified by its name. `key` is never 0.
struct SharedFile {
  std::uint64_t key = 0;
  std::string name;
};

/// One opening of a file, as known to all processes that took part: OTF2's IoHandle.
struct SharedHandle {
  std::uint64_t key = 0;  ///< never 0
  std::uint64_t file_key = 0;
  std::uint64_t comm_key = 0;  ///< 0: unknown
  std::uint16_t mode = kFileModeNone;
};

/// The index of an entry is its OTF2 id: of an IoFile in `files`, of an IoHandle in `handles`.
struct SharedFiles {
  std::vector<SharedFile> files;
  std::vector<SharedHandle> handles;
};

/// Returns the files of one process. comm_keys: by CommId.
SharedFiles collect_files(const ProcessDefinitions& process,
                          const std::vector<std::uint64_t>& comm_keys);
/// Appends the entries that `mine` lacks. O(both).
void merge_files(SharedFiles& mine, SharedFiles theirs);
void put_files(ByteWriter& to, const SharedFiles& files);
SharedFiles get_files(ByteReader& from);

/// OTF2 ids by key. The same on all members.
struct FileIds {
  std::unordered_map<std::uint64_t, std::uint32_t> files;
  std::unordered_map<std::uint64_t, std::uint32_t> handles;
};
void put_file_keys(ByteWriter& to, const SharedFiles& files);
FileIds get_file_ids(ByteReader& from);

/// OTF2 ids of one process's files.
class ProcessFiles {
 public:
  ProcessFiles() = default;
  ProcessFiles(const ProcessDefinitions& process, const std::vector<std::uint64_t>& comm_keys,
               const FileIds& ids);

  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;  ///< OTF2_UNDEFINED_IO_HANDLE, _FILE

  /// Returns the OTF2 id of an opening of a file. Returns kUndefined if the trace does not define
  /// `id`, or if `id` is only a file name that was not opened.
  std::uint32_t handle(FileId id) const { return id < handles_.size() ? handles_[id] : kUndefined; }
  std::uint32_t file(FileId id) const { return id < files_.size() ? files_[id] : kUndefined; }

 private:
  std::vector<std::uint32_t> handles_;  ///< by FileId
  std::vector<std::uint32_t> files_;
};

}  // namespace megascope::otf2
