#include "tests/faults/disks.h"

#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace megascope::faults {
namespace {

using test::TemporaryDirectory;

bool enter_namespace() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Silently; true: it returned 0.
bool run_program(std::vector<std::string> words) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int file : {0, 1, 2}) dup2(null, file);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

bool mount_tmpfs(const std::string& directory, const std::string& options, unsigned long flags) {
  return enter_namespace() &&
         mount("none", directory.c_str(), "tmpfs", flags, options.c_str()) == 0;
}

bool can_mount() {
  const TemporaryDirectory directory;
  const pid_t child = fork();
  if (child == 0) _exit(mount_tmpfs(directory.path(), "size=1m") ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

bool make_file_system(const std::string& image, const std::string& type, unsigned mebibytes) {
  const int file = open(image.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_made = file >= 0 && ftruncate(file, static_cast<off_t>(mebibytes) << 20) == 0;
  if (file >= 0) close(file);
  return is_made && run_program({"mkfs." + type, "-q", image});
}

bool mount_image(const std::string& image, const std::string& type, const std::string& directory) {
  return enter_namespace() && run_program({"mount", "-t", type, "-o", "loop", image, directory});
}

}  // namespace megascope::faults
