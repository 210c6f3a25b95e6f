#include "core/trace/private_scratch.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "core/base/safe_file.h"

namespace megascope::trace {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kLetterCount = 6;  // as mkdtemp

std::string common_name() { return "megascope-" + std::to_string(geteuid()); }

/// Of run ids that differ, other names: 36 of the 64 bits of a run id. false: it is no number.
bool name_of_one_run(const std::string& run_id, std::string& name) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(run_id.data(), run_id.data() + run_id.size(), bits, 16);
  if (error != std::errc{} || end != run_id.data() + run_id.size()) return false;
  name = common_name() + ".";
  for (std::size_t i = 0; i < kLetterCount; ++i, bits /= kLetters.size()) name += kLetters[bits % kLetters.size()];
  return true;
}

bool is_name_of_one_run(std::string_view name) {
  const std::string common = common_name() + ".";
  return name.starts_with(common) && name.size() == common.size() + kLetterCount && name.find_first_not_of(kLetters, common.size()) == std::string_view::npos;
}

/// is_taken: something that is not private to this user has the name.
Status make_private(const std::string& folder, bool& is_taken) {
  Status status = files::make_directory(folder, kPrivate, &is_taken);
  if (!is_taken) return status;
  files::Descriptor directory;
  status = files::open_private_directory(folder, directory);
  is_taken = !status.is_ok();
  return status;
}

}  // namespace

Status make_scratch_folder(const std::string& scratch, const std::string& run_id, std::string& folder) {
  std::string parent = scratch + "/" + common_name();
  std::string own_name;
  bool is_taken = false;
  Status status = make_private(parent, is_taken);
  if (is_taken && name_of_one_run(run_id, own_name)) {
    parent = scratch + "/" + own_name;
    const Status of_run = make_private(parent, is_taken);
    if (of_run.is_ok()) status = of_run;
  }
  folder = parent + "/" + run_id;
  return status.is_ok() ? make_private(folder, is_taken) : status;
}

void remove_scratch_folder(const std::string& folder) noexcept {
  ::rmdir(folder.c_str());
  const std::size_t end = folder.rfind('/');
  if (end == std::string::npos) return;
  const std::size_t begin = folder.rfind('/', end - 1);
  try {
    const std::string parent = folder.substr(0, end);
    if (begin != std::string::npos && is_name_of_one_run(parent.substr(begin + 1))) ::rmdir(parent.c_str());
  } catch (const std::bad_alloc&) {
    // An empty directory stays.
  }
}

std::vector<std::string> private_scratch_folders(const std::string& scratch, std::size_t max_entries) {
  namespace fs = std::filesystem;
  std::vector<std::string> candidates = {scratch + "/" + common_name()};
  std::error_code error;
  for (auto entry = fs::directory_iterator(scratch, error); !error && entry != fs::directory_iterator() && max_entries-- > 0; entry.increment(error)) {
    if (is_name_of_one_run(entry->path().filename().string())) candidates.push_back(entry->path().string());
  }
  std::erase_if(candidates, [](const std::string& candidate) {
    files::Descriptor directory;
    return !files::open_private_directory(candidate, directory).is_ok();
  });
  return candidates;
}

}  // namespace megascope::trace
