#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace megascope::test {

/// A new directory below TMPDIR, or below /tmp if TMPDIR is not set. Only its owner may use it
/// (mode 0700). The destructor removes it with its contents. A forked child that uses it must end
/// with _exit().
class TemporaryDirectory {
 public:
  /// parent: where to create it. Throws std::runtime_error if it cannot be created.
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "ms-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot create a temporary directory: " + path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  /// Returns the path of a file in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Returns the sorted names of its files and directories.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      found.push_back(entry.path().filename().string());
    std::ranges::sort(found);
    return found;
  }

 private:
  std::string path_;
};

}  // namespace megascope::test
