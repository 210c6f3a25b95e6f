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

/// The messages of all members after each has written its piece and finished with its error.
std::vector<std::string> write_pieces(const std::string& directory,
                                      const std::vector<std::string>& pieces,
                                      const std::vector<std::string>& errors) {
  std::vector<std::string> messages(pieces.size());
  std::uint64_t whole_bytes = 0;
  for (const std::string& piece : pieces) whole_bytes += piece.size();
  run_members(static_cast<int>(pieces.size()), [&](Collective& members) {
    const auto rank = static_cast<std::size_t>(members.rank());
    JointFile file(members, directory, "whole");
    Status status = file.open();
    std::uint64_t size_bytes = 0;
    if (status.is_ok()) {
      const std::string& piece = pieces[rank];
      file.write(std::span(piece).first(piece.size() / 3));
      file.write(std::span(piece).subspan(piece.size() / 3));
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

TEST(JointFile, PutsPiecesBehindEachOther) {
  const ScratchDirectory directory;
  EXPECT_THAT(write_pieces(directory.path(), {"one ", "", "three"}, {"", "", ""}),
              ElementsAre("", "", ""));
  EXPECT_EQ(content(directory.path() + "/whole"), "one three");
  EXPECT_THAT(directory.files(), ElementsAre("whole"));
}

TEST(JointFile, TakesPiecesThatDoNotFitIntoMemory) {
  const ScratchDirectory directory;
  const std::vector<std::string> pieces{long_text(JointFile::kMemoryBytes + 7, 1), "short",
                                        long_text(2 * JointFile::kMemoryBytes + 4099, 2),
                                        long_text(JointFile::kMemoryBytes, 3)};
  EXPECT_THAT(write_pieces(directory.path(), pieces, {"", "", "", ""}),
              ElementsAre("", "", "", ""));
  EXPECT_TRUE(content(directory.path() + "/whole") ==
              pieces[0] + pieces[1] + pieces[2] + pieces[3]);
  EXPECT_THAT(directory.files(), ElementsAre("whole"));
}

TEST(JointFile, LeavesNothingWhenOneMemberFails) {
  const ScratchDirectory directory;
  const std::string piece = long_text(JointFile::kMemoryBytes + 7, 1);
  EXPECT_THAT(
      write_pieces(directory.path(), {piece, piece, piece}, {"", "rank 1 broke", "rank 2 broke"}),
      ElementsAre("rank 1 broke", "rank 1 broke", "rank 1 broke"));
  EXPECT_THAT(directory.files(), IsEmpty());
}

TEST(JointFile, DoesNotOverwrite) {
  const ScratchDirectory directory;
  std::ofstream(directory.path() + "/whole") << "old";
  const auto messages = write_pieces(directory.path(), {"a", "b"}, {"", ""});
  EXPECT_THAT(messages[0], HasSubstr("exists already"));
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(content(directory.path() + "/whole"), "old");
  EXPECT_THAT(directory.files(), ElementsAre("whole"));
}

TEST(JointFile, IsNotWrittenThroughLinksThatLieUnderItsNames) {
  const ScratchDirectory directory;
  const std::string precious = directory.path() + "/precious";
  std::ofstream(precious) << "precious";
  for (const char* name : {"/whole.part", "/whole.part-1"})
    std::filesystem::create_symlink(precious, directory.path() + name);
  const std::string piece = long_text(JointFile::kMemoryBytes + 7,
                                      1);  // of a length that needs a file of its own
  EXPECT_THAT(write_pieces(directory.path(), {"a", piece}, {"", ""}), ElementsAre("", ""));
  EXPECT_EQ(content(precious), "precious");
  EXPECT_TRUE(content(directory.path() + "/whole") == "a" + piece);
}

TEST(JointFile, IsNotWrittenThroughALinkThatLeadsNowhereYet) {
  const ScratchDirectory directory;
  std::filesystem::create_symlink(directory.path() + "/not there", directory.path() + "/whole");
  EXPECT_THAT(write_pieces(directory.path(), {"a", "b"}, {"", ""})[1], HasSubstr("exists already"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/not there"));
}

TEST(JointFile, RemovesWhatAKilledProcessLeftOfIt) {
  const ScratchDirectory directory;
  std::ofstream(directory.path() + "/whole.0123456789abcdef.part") << "half";
  EXPECT_THAT(write_pieces(directory.path(), {"a", "b"}, {"", ""}), ElementsAre("", ""));
  EXPECT_THAT(directory.files(), ElementsAre("whole"));
}

TEST(JointFile, NamesADirectoryThatIsNotThere) {
  const auto messages = write_pieces("/nowhere/at/all", {"a", "b"}, {"", ""});
  EXPECT_THAT(messages[1],
              ContainsRegex("/nowhere/at/all/whole[.][0-9a-f]+[.]part: No such file or directory"));
}

}  // namespace
}  // namespace megascope::test
