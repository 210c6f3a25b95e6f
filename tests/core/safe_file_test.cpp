// Files in directories where others may have placed something: what is opened, what is refused,
// what a write leaves.
#include "core/base/safe_file.h"

#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace megascope::files {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SafeFile : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return directory_ / name; }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(in(name)) << text;
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(in(name)).rdbuf();
    return text.str();
  }
  std::vector<std::string> names() const { return directory_.names(); }

  const test::TemporaryDirectory directory_;
};

TEST_F(SafeFile, OpensARegularFileOnly) {
  put("file", "x");
  fs::create_symlink(in("file"), in("link"));
  fs::create_symlink(in("nothing"), in("dangling"));
  fs::create_directory(in("directory"));
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  Descriptor file;
  EXPECT_TRUE(open_existing(in("file"), O_RDONLY, Owner::kThisUser, file).is_ok());
  EXPECT_TRUE(file.is_open());
  for (const int flags : {O_RDONLY, O_RDWR}) {
    for (const char* name : {"link", "dangling", "directory", "fifo", "absent"}) {
      Descriptor refused;
      const Status status = open_existing(in(name), flags, Owner::kAnyone, refused);
      EXPECT_THAT(status.message(), HasSubstr(in(name))) << name;
      EXPECT_FALSE(refused.is_open());
    }
  }
}

TEST_F(SafeFile, AGivenPathMayBeALinkButNoFifo) {
  put("file", "x");
  fs::create_symlink(in("file"), in("link"));
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  Descriptor file;
  EXPECT_TRUE(open_given(in("link"), file).is_ok());
  EXPECT_FALSE(open_given(in("fifo"), file).is_ok());
}

TEST_F(SafeFile, TwoNamesAreRefusedWhereOthersMayHaveMadeOne) {
  put("file", "x");
  fs::create_hard_link(in("file"), in("other"));
  Descriptor file;
  EXPECT_TRUE(open_existing(in("file"), O_RDWR, Owner::kThisUser, file).is_ok());
  EXPECT_THAT(open_existing(in("file"), O_RDWR, Owner::kThisUserOnly, file).message(),
              HasSubstr("more than one name"));
}

TEST_F(SafeFile, NothingIsCreatedWhereSomethingIs) {
  put("file", "old");
  fs::create_symlink(in("nothing"), in("dangling"));
  Descriptor file;
  EXPECT_THAT(create_new(in("file"), 0600, file).message(), HasSubstr("exists already"));
  EXPECT_THAT(create_new(in("dangling"), 0600, file).message(), HasSubstr("exists already"));
  EXPECT_FALSE(fs::exists(in("nothing")));
  EXPECT_EQ(content("file"), "old");
}

TEST_F(SafeFile, AWrittenFileReplacesALinkAndLeavesItsTarget) {
  put("precious", "precious");
  fs::create_symlink(in("precious"), in("report.txt"));
  fs::create_symlink(in("precious"), in("report.txt.part"));
  ASSERT_TRUE(write_file(in("report.txt"), "report", 0600).is_ok());
  EXPECT_EQ(content("precious"), "precious");
  EXPECT_FALSE(fs::is_symlink(in("report.txt")));
  EXPECT_EQ(content("report.txt"), "report");
  EXPECT_THAT(names(), ElementsAre("precious", "report.txt", "report.txt.part"));
}

TEST_F(SafeFile, AFreshFileIsThereWhenWholeOrNotAtAll) {
  {
    FreshFile file;
    ASSERT_TRUE(file.create(in("a"), 0600).is_ok());
    ASSERT_TRUE(write_all(file.number(), "half", "a").is_ok());
    EXPECT_FALSE(fs::exists(in("a")));
  }
  EXPECT_THAT(names(), IsEmpty());
  FreshFile file;
  ASSERT_TRUE(file.create(in("a"), 0600).is_ok());
  put("a", "somebody was faster");
  EXPECT_THAT(file.publish(FreshFile::Existing::kKeep).message(), HasSubstr("not overwritten"));
  EXPECT_EQ(content("a"), "somebody was faster");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(SafeFile, WhatAKilledWriterLeftIsRemovedAndWhatIsBeingWrittenIsNot) {
  FreshFile busy;
  ASSERT_TRUE(busy.create(in("a"), 0600).is_ok());
  put("a.0123456789abcdef.part", "left");
  put("a.0123456789abcdeg.part", "no name of ours");
  put("b.0123456789abcdef.part", "of another file");
  fs::create_symlink(in("b.0123456789abcdef.part"), in("a.0000000000000000.part"));
  const int directory = open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(remove_stale_parts({directory, directory_.path()}, "a"), 1);
  close(directory);
  EXPECT_FALSE(fs::exists(in("a.0123456789abcdef.part")));
  EXPECT_EQ(names().size(), 4u);
  put("c", "whole");
  fs::create_hard_link(in("c"), in("c.0123456789abcdef.part"));
  fs::create_hard_link(in("c"), in("c.part"));
  EXPECT_EQ(remove_stale_parts(in("c")), 1);
  EXPECT_EQ(fs::hard_link_count(in("c")), 2u);
  EXPECT_TRUE(busy.publish(FreshFile::Existing::kKeep).is_ok());
}

/// Several recoveries bring trace fragments into one run directory at the same time, and each
/// clears away what killed ones left.
TEST_F(SafeFile, WhatIsBeingWrittenStaysWhileOthersClearAway) {
  constexpr int kFileCount = 4000;
  std::atomic<bool> is_done = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!is_done) remove_stale_parts(in("a"));
    });
  }
  int lost_count = 0;
  std::string first_problem;
  for (int i = 0; i < kFileCount; ++i) {
    FreshFile file;
    Status status = file.create(in("a"), 0600);
    if (status.is_ok()) status = file.publish(FreshFile::Existing::kReplace);
    if (!status.is_ok() && lost_count++ == 0) first_problem = status.message();
  }
  is_done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(lost_count, 0) << first_problem;
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(SafeFile, APrivateDirectoryIsOneThatOthersCannotWriteTo) {
  Descriptor directory;
  EXPECT_TRUE(open_private_directory(directory_.path(), directory).is_ok());
  for (const mode_t mode : {mode_t{0770}, mode_t{0707}}) {
    ASSERT_EQ(chmod(directory_.path().c_str(), mode), 0);
    EXPECT_THAT(open_private_directory(directory_.path(), directory).message(),
                HasSubstr("other users can write to it"));
  }
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  fs::create_directory_symlink(directory_.path(), in("link"));
  EXPECT_THAT(open_private_directory(in("link"), directory).message(),
              HasSubstr("not a directory"));
  put("file", "x");
  EXPECT_THAT(open_private_directory(in("file"), directory).message(),
              HasSubstr("not a directory"));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory_.path().c_str(), 65534, 65534), 0);
    EXPECT_THAT(open_private_directory(directory_.path(), directory).message(),
                HasSubstr("another user"));
  }
}

TEST_F(SafeFile, AnOwnDirectoryMayBeOneThatOthersWriteTo) {
  Descriptor directory;
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  EXPECT_TRUE(open_own_directory(current_directory(), directory_.path(), directory).is_ok());
  put("file", "in it");
  std::string text;
  EXPECT_TRUE(read_small({directory.number(), directory_.path()}, "file", 100, text).is_ok());
  EXPECT_EQ(text, "in it");
  fs::create_directory_symlink(directory_.path(), in("link"));
  EXPECT_THAT(open_own_directory(current_directory(), in("link"), directory).message(),
              HasSubstr("not a directory"));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory_.path().c_str(), 65534, 65534), 0);
    EXPECT_THAT(open_own_directory(current_directory(), directory_.path(), directory).message(),
                HasSubstr("another user (uid 65534), not to uid 0; run this as that user"));
  }
}

TEST_F(SafeFile, ListsNamesUpToABound) {
  for (const char* name : {"a", "b", ".c"}) put(name, "");
  std::vector<std::string> found = names_in(directory_.path(), 10);
  std::ranges::sort(found);
  EXPECT_THAT(found, ElementsAre(".c", "a", "b"));
  EXPECT_EQ(names_in(directory_.path(), 2).size(), 2u);
  EXPECT_THAT(names_in(in("nothing"), 10), IsEmpty());
  EXPECT_THAT(names_in(in("a"), 10), IsEmpty());
}

TEST_F(SafeFile, ReadsSmallFilesWhole) {
  put("file", std::string(10'000, 'x'));
  std::string text;
  EXPECT_TRUE(read_small(in("file"), 10'000, text).is_ok());
  EXPECT_EQ(text.size(), 10'000u);
  EXPECT_THAT(read_small(in("file"), 9'999, text).message(), HasSubstr("larger"));
}

TEST_F(SafeFile, AWrittenFileDoesNotReplaceADevice) {
  ASSERT_EQ(mkfifo(in("special").c_str(), 0600), 0);
  EXPECT_THAT(write_file(in("special"), "text", 0600).message(), HasSubstr("not a regular file"));
  EXPECT_THAT(names(), ElementsAre("special"));
}

TEST_F(SafeFile, ADirectoryIsNewAndNotForOthersToWriteTo) {
  const mode_t before = umask(0);
  bool exists = true;
  EXPECT_TRUE(make_directory(in("new"), 0777, &exists).is_ok());
  EXPECT_FALSE(exists);
  EXPECT_TRUE(make_parents(in("a/b/c"), 0777).is_ok());
  umask(before);
  for (const char* name : {"new", "a", "a/b"})
    EXPECT_EQ(fs::status(in(name)).permissions(), static_cast<fs::perms>(0755)) << name;
  EXPECT_FALSE(fs::exists(in("a/b/c")));
  fs::create_symlink(in("nothing"), in("dangling"));
  for (const char* name : {"new", "dangling"}) {
    EXPECT_THAT(make_directory(in(name), 0777, &exists).message(), HasSubstr("exists already"))
        << name;
    EXPECT_TRUE(exists) << name;
  }
  EXPECT_THAT(make_directory(in("not/there"), 0777, &exists).message(), HasSubstr("No such file"));
  EXPECT_FALSE(exists);
}

TEST_F(SafeFile, ANamelessFileLeavesNothing) {
  Descriptor file;
  ASSERT_TRUE(create_nameless(directory_.path(), file).is_ok());
  EXPECT_TRUE(write_all(file.number(), "text", "file").is_ok());
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_FALSE(create_nameless(in("nowhere"), file).is_ok());
}

TEST_F(SafeFile, AFreshDirectoryIsPrivateAndRenamingReplacesNothing) {
  std::string fresh;
  const mode_t before = umask(0);
  ASSERT_TRUE(make_fresh_directory(in("archive"), fresh).is_ok());
  umask(before);
  EXPECT_EQ(fs::status(fresh).permissions(), static_cast<fs::perms>(0700));
  put("there", "old");
  fs::create_symlink(in("nothing"), in("dangling"));
  for (const char* name : {"there", "dangling"})
    EXPECT_THAT(rename_new(fresh, in(name)).message(), HasSubstr("exists already")) << name;
  EXPECT_TRUE(rename_new(fresh, in("archive")).is_ok());
  EXPECT_TRUE(fs::is_directory(in("archive")));
  EXPECT_EQ(content("there"), "old");
}

}  // namespace
}  // namespace megascope::files
