// The directory in which an archive is written: others may rename it, and put something else in its
// place.
#include "exporters/otf2/archive_directory.h"

#include "core/lifecycle/collective.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace megascope::otf2 {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

void write_parts(const ArchiveDirectory& directory) {
  fs::create_directory(directory.path_of(""));
  for (const char* part : {"/0.evt", ".def", ".otf2"})
    std::ofstream(directory.path_of(part)) << "archive";
}

TEST(ArchiveDirectory, IsFollowedWhenOthersRenameIt) {
  const TemporaryDirectory directory_path;
  const TemporaryDirectory home;
  std::ofstream(home.path() + "/trace.otf2") << "precious";
  const std::unique_ptr<Collective> alone = make_single_collective();
  ArchiveDirectory directory(directory_path.path(), "trace", *alone);
  ASSERT_TRUE(directory.create().is_ok());
  fs::rename(directory.shown_path(), directory_path.path() + "/stolen");
  fs::create_directory_symlink(home.path(), directory.shown_path());
  write_parts(directory);
  EXPECT_TRUE(directory.publish().is_ok());
  directory.remove();
  std::string content;
  std::ifstream(home.path() + "/trace.otf2") >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_THAT(home.names(), ElementsAre("trace.otf2"));
  EXPECT_TRUE(fs::exists(directory_path.path() + "/trace/0.evt"));
  EXPECT_TRUE(fs::is_regular_file(directory_path.path() + "/trace.otf2"));
  EXPECT_TRUE(fs::is_empty(directory_path.path() + "/stolen"));
}

TEST(ArchiveDirectory, IsRemovedWithItsContentAndNothingElse) {
  const TemporaryDirectory directory_path;
  const std::unique_ptr<Collective> alone = make_single_collective();
  ArchiveDirectory directory(directory_path.path(), "trace", *alone);
  ASSERT_TRUE(directory.create().is_ok());
  write_parts(directory);
  fs::create_directory_symlink(directory_path.path(), directory.path() + "/link");
  std::ofstream(directory_path.path() + "/other") << "stays";
  directory.remove();
  EXPECT_THAT(directory_path.names(), ElementsAre("other"));
}

TEST(ArchiveDirectory, PublishesAllPartsOrNone) {
  const TemporaryDirectory directory_path;
  const std::unique_ptr<Collective> alone = make_single_collective();
  ArchiveDirectory directory(directory_path.path(), "trace", *alone);
  ASSERT_TRUE(directory.create().is_ok());
  write_parts(directory);
  std::ofstream(directory_path.path() + "/trace.otf2") << "somebody was faster";
  EXPECT_THAT(directory.publish().message(),
              HasSubstr("trace.otf2 exists already: it is not overwritten"));
  directory.remove();
  EXPECT_THAT(directory_path.names(), ElementsAre("trace.otf2"));
}

}  // namespace
}  // namespace megascope::otf2
