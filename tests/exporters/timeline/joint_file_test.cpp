#include "exporters/common/joint_file.h"

#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/support/thread_collective.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace megascope::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using timeline::JointFile;

std::string content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The messages of all members after each has written its part and finished with its error.
std::vector<std::string> write_parts(const std::string& directory,
                                     const std::vector<std::string>& parts,
                                     const std::vector<std::string>& errors) {
  std::vector<std::string> messages(parts.size());
  std::uint64_t whole_bytes = 0;
  for (const std::string& part : parts) whole_bytes += part.size();
  run_members(static_cast<int>(parts.size()), [&](Collective& members) {
    const auto rank = static_cast<std::size_t>(members.rank());
    JointFile file(members, directory, "whole");
    Status status = file.open();
    std::uint64_t size_bytes = 0;
    if (status.is_ok()) {
      const std::string& part = parts[rank];
      file.write(std::span(part).first(part.size() / 3));
      file.write(std::span(part).subspan(part.size() / 3));
      status = file.finish(errors[rank].empty() ? Status::ok() : Status::error(errors[rank]),
                           size_bytes);
      if (status.is_ok()) {
        EXPECT_EQ(size_bytes, whole_bytes);
      }
    }
    messages[rank] = status.message();
  });
  return messages;
}

/// Text that tells where it was cut.
std::string long_text(std::size_t bytes, std::uint64_t seed) {
  std::string text;
  while (text.size() < bytes) text += std::to_string(seed++) + " ";
  text.resize(bytes);
  return text;
}

TEST(JointFile, PutsPartsAfterEachOther) {
  const TemporaryDirectory directory;
  EXPECT_THAT(write_parts(directory.path(), {"one ", "", "three"}, {"", "", ""}),
              ElementsAre("", "", ""));
  EXPECT_EQ(content(directory.path() + "/whole"), "one three");
  EXPECT_THAT(directory.names(), ElementsAre("whole"));
}

TEST(JointFile, TakesPartsThatDoNotFitIntoMemory) {
  const TemporaryDirectory directory;
  const std::vector<std::string> parts{long_text(JointFile::kMemoryBytes + 7, 1), "short",
                                       long_text(2 * JointFile::kMemoryBytes + 4099, 2),
                                       long_text(JointFile::kMemoryBytes, 3)};
  EXPECT_THAT(write_parts(directory.path(), parts, {"", "", "", ""}), ElementsAre("", "", "", ""));
  EXPECT_TRUE(content(directory.path() + "/whole") == parts[0] + parts[1] + parts[2] + parts[3]);
  EXPECT_THAT(directory.names(), ElementsAre("whole"));
}

TEST(JointFile, LeavesNothingWhenOneMemberFails) {
  const TemporaryDirectory directory;
  const std::string part = long_text(JointFile::kMemoryBytes + 7, 1);
  EXPECT_THAT(
      write_parts(directory.path(), {part, part, part}, {"", "rank 1 broke", "rank 2 broke"}),
      ElementsAre("rank 1 broke", "rank 1 broke", "rank 1 broke"));
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(JointFile, DoesNotOverwrite) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/whole") << "old";
  const auto messages = write_parts(directory.path(), {"a", "b"}, {"", ""});
  EXPECT_THAT(messages[0], HasSubstr("exists already"));
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(content(directory.path() + "/whole"), "old");
  EXPECT_THAT(directory.names(), ElementsAre("whole"));
}

TEST(JointFile, IsNotWrittenThroughLinksThatLieUnderItsNames) {
  const TemporaryDirectory directory;
  const std::string precious = directory.path() + "/precious";
  std::ofstream(precious) << "precious";
  for (const char* name : {"/whole.part", "/whole.part-1"})
    std::filesystem::create_symlink(precious, directory.path() + name);
  const std::string part = long_text(JointFile::kMemoryBytes + 7,
                                     1);  // of a length that needs a file of its own
  EXPECT_THAT(write_parts(directory.path(), {"a", part}, {"", ""}), ElementsAre("", ""));
  EXPECT_EQ(content(precious), "precious");
  EXPECT_TRUE(content(directory.path() + "/whole") == "a" + part);
}

TEST(JointFile, IsNotWrittenThroughALinkThatLeadsNowhereYet) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink(directory.path() + "/not there", directory.path() + "/whole");
  EXPECT_THAT(write_parts(directory.path(), {"a", "b"}, {"", ""})[1], HasSubstr("exists already"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/not there"));
}

TEST(JointFile, RemovesWhatAKilledProcessLeftOfIt) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/whole.0123456789abcdef.part") << "half";
  EXPECT_THAT(write_parts(directory.path(), {"a", "b"}, {"", ""}), ElementsAre("", ""));
  EXPECT_THAT(directory.names(), ElementsAre("whole"));
}

TEST(JointFile, NamesADirectoryThatIsNotThere) {
  const auto messages = write_parts("/nowhere/at/all", {"a", "b"}, {"", ""});
  EXPECT_THAT(messages[1],
              ContainsRegex("/nowhere/at/all/whole[.][0-9a-f]+[.]part: No such file or directory"));
}

}  // namespace
}  // namespace megascope::test
