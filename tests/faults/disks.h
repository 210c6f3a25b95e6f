#pragma once

#include <string>

/// File systems of a test's own. Needs root; in a namespace of the calling process, which is a
/// child that becomes the program.
namespace megascope::faults {

/// Where that is possible.
bool can_mount();
/// false: it could not be mounted. flags: of mount(2).
bool mount_tmpfs(const std::string& directory, const std::string& options, unsigned long flags = 0);

/// Makes `image`, a file of `mebibytes`, a file system by mkfs.<type>. false: there is no such
/// program, or it failed.
bool make_file_system(const std::string& image, const std::string& type, unsigned mebibytes);
/// false: the kernel lacks the file system or loop devices.
bool mount_image(const std::string& image, const std::string& type, const std::string& directory);

}  // namespace megascope::faults
