#include "exporters/otf2/shared_files.h"

#include "core/base/hash.h"

#include <utility>

namespace megascope::otf2 {
namespace {

std::uint64_t file_key(const std::string& name) { return not_zero(hash_of(name)); }

std::uint64_t comm_key(const FileDefinition& file, const std::vector<std::uint64_t>& comm_keys) {
  return file.comm < comm_keys.size() ? comm_keys[file.comm] : 0;
}

/// Key of the opening; 0: the file is a name without an opening.
std::uint64_t handle_key(const FileDefinition& file, std::uint64_t comm_key) {
  if (file.mode == kFileModeNone) return 0;
  return not_zero(combined(combined(file.global_name, comm_key), 1));
}

template <class Shared>
void merge_by_key(std::vector<Shared>& mine, std::vector<Shared>& theirs) {
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::size_t i = 0; i < mine.size(); ++i) known.emplace(mine[i].key, i);
  for (Shared& shared : theirs) {
    if (known.emplace(shared.key, mine.size()).second) mine.push_back(std::move(shared));
  }
}

std::uint32_t id_of(const std::unordered_map<std::uint64_t, std::uint32_t>& ids,
                    std::uint64_t key) {
  const auto found = ids.find(key);
  return found == ids.end() ? ProcessFiles::kUndefined : found->second;
}

template <class Shared>
void put_keys(ByteWriter& to, const std::vector<Shared>& all) {
  to.put_u64(all.size());
  for (const Shared& shared : all) to.put_u64(shared.key);
}

std::unordered_map<std::uint64_t, std::uint32_t> get_ids(ByteReader& from) {
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  const std::size_t count = from.count();
  for (std::uint32_t id = 0; id < count; ++id) ids.emplace(from.u64(), id);
  return ids;
}

}  // namespace

SharedFiles collect_files(const ProcessDefinitions& process,
                          const std::vector<std::uint64_t>& comm_keys) {
  SharedFiles all;
  std::vector<SharedFile> files;
  std::vector<SharedHandle> handles;
  for (const FileDefinition& file : process.files) {
    const std::uint64_t key = file_key(file.name);
    files.push_back({key, file.name});
    const std::uint64_t on = comm_key(file, comm_keys);
    if (const std::uint64_t handle = handle_key(file, on); handle != 0)
      handles.push_back({handle, key, on, file.mode});
  }
  merge_by_key(all.files, files);
  merge_by_key(all.handles, handles);
  return all;
}

void merge_files(SharedFiles& mine, SharedFiles theirs) {
  merge_by_key(mine.files, theirs.files);
  merge_by_key(mine.handles, theirs.handles);
}

void put_files(ByteWriter& to, const SharedFiles& files) {
  to.put_u64(files.files.size());
  for (const SharedFile& file : files.files) {
    to.put_u64(file.key);
    to.put_text(file.name);
  }
  to.put_u64(files.handles.size());
  for (const SharedHandle& handle : files.handles) {
    to.put_u64(handle.key);
    to.put_u64(handle.file_key);
    to.put_u64(handle.comm_key);
    to.put_u64(handle.mode);
  }
}

SharedFiles get_files(ByteReader& from) {
  SharedFiles all;
  all.files.resize(from.count());
  for (SharedFile& file : all.files) {
    file.key = from.u64();
    file.name = from.text();
  }
  all.handles.resize(from.count());
  for (SharedHandle& handle : all.handles) {
    handle.key = from.u64();
    handle.file_key = from.u64();
    handle.comm_key = from.u64();
    handle.mode = static_cast<std::uint16_t>(from.u64());
  }
  return all;
}

void put_file_keys(ByteWriter& to, const SharedFiles& files) {
  put_keys(to, files.files);
  put_keys(to, files.handles);
}

FileIds get_file_ids(ByteReader& from) {
  FileIds ids;
  ids.files = get_ids(from);
  ids.handles = get_ids(from);
  return ids;
}

ProcessFiles::ProcessFiles(const ProcessDefinitions& process,
                           const std::vector<std::uint64_t>& comm_keys, const FileIds& ids) {
  for (const FileDefinition& file : process.files) {
    files_.push_back(id_of(ids.files, file_key(file.name)));
    handles_.push_back(id_of(ids.handles, handle_key(file, comm_key(file, comm_keys))));
  }
}

}  // namespace megascope::otf2
