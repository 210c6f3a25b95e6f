// Files: how facts about them are stored, told and summed.
#include "core/base/wire.h"
#include "core/encoding/call_decoder.h"
#include "core/profile/profile.h"
#include "core/record/file_fact.h"
#include "core/trace/definition_codec.h"

#include <gmock/gmock.h>

#include <vector>

namespace megascope {
namespace {

using encoding::Word;
using testing::ElementsAre;

constexpr CommId kComm = 3;
constexpr FileId kFile = 7;

Fact whole(FactKind kind, std::uint64_t offset, std::uint64_t bytes, bool is_collective = false) {
  return transfer_fact(kind, kFile, kComm, {offset, bytes, is_collective});
}

/// Encoded and decoded as the only fact of a call on kComm.
Fact through_the_trace(const Fact& fact, std::size_t expected_words) {
  std::vector<Word> words = {encoding::entry_word(1, 0, 1),
                             Word{kComm} << 32 | Word{encoding::kHasFacts} << 56,
                             0,
                             0,
                             0,
                             0,
                             0};
  const std::size_t size = encoding::encode_fact(fact, words.data() + encoding::kBareWords);
  EXPECT_EQ(size, expected_words);
  words.resize(encoding::kBareWords + size);
  encoding::CallDecoder decoder;
  decoder.begin_chunk(words, 0);
  Call call;
  EXPECT_TRUE(decoder.next(call) || decoder.flush(call));
  EXPECT_EQ(call.facts.size(), 1u);
  return call.facts.empty() ? Fact{} : call.facts[0];
}

TEST(FileFact, KeepsWhatATransferSays) {
  for (const std::uint64_t offset : {kNoOffset, std::uint64_t{0}, std::uint64_t{1} << 31,
                                     std::uint64_t{1} << 32, (std::uint64_t{1} << 62) + 5}) {
    for (const bool is_collective : {false, true}) {
      Fact fact = whole(FactKind::kFileWrite, offset, 4000, is_collective);
      set_transferred(fact, 3000);
      const Fact read = through_the_trace(fact, encoding::kWideWords);
      EXPECT_EQ(read, fact);
      EXPECT_EQ(access_of(read), (FileAccess{offset, 4000, is_collective}));
      EXPECT_EQ(transferred(read), 3000u);
      EXPECT_EQ(file_of(read), kFile);
    }
  }
}

TEST(FileFact, OfAWholeTransferIsShort) {
  EXPECT_EQ(
      transferred(through_the_trace(whole(FactKind::kFileRead, 100, 4000), encoding::kMediumWords)),
      4000u);
}

TEST(FileFact, BelievesNoCountThatCannotBe) {
  Fact fact = whole(FactKind::kFileRead, 0, 100);
  set_transferred(fact, static_cast<std::uint64_t>(-1));
  EXPECT_EQ(transferred(fact), 0u);
  set_transferred(fact, 101);
  EXPECT_EQ(transferred(fact), 100u);
}

TEST(FileFact, KeepsWhatASeekSays) {
  for (const FileSeek& seek : {FileSeek{-16, SeekFrom::kEnd, 84},
                               FileSeek{5, SeekFrom::kCurrent, kNoOffset}, FileSeek{}}) {
    EXPECT_EQ(seek_of(through_the_trace(seek_fact(kFile, kComm, seek), encoding::kWideWords)),
              seek);
  }
  Fact damaged = seek_fact(kFile, kComm, {});
  damaged.tag = 77;
  EXPECT_EQ(seek_of(damaged).from, SeekFrom::kStart);
}

TEST(FileFact, IsCompletedFromItsStart) {
  Fact start = whole(FactKind::kFileReadRequest, 8, 40);
  start.request = 9;
  std::vector<Word> words = {encoding::entry_word(1, 0, 1),
                             Word{kComm} << 32 | Word{encoding::kHasFacts} << 56};
  words.resize(encoding::kBareWords + encoding::kMediumWords);
  encoding::encode_fact(start, words.data() + encoding::kBareWords);
  words.insert(words.end(), {encoding::entry_word(5, 0, 1),
                             Word{encoding::kHasFacts} << 56 | Word{encoding::kWideComm} << 32,
                             encoding::short_fact(FactKind::kFileReadComplete, 9)});
  encoding::CallDecoder decoder;
  decoder.begin_chunk(words, 0);
  Call call;
  ASSERT_TRUE(decoder.next(call));
  EXPECT_THAT(std::vector<Fact>(call.facts.begin(), call.facts.end()), ElementsAre(start));
  ASSERT_TRUE(decoder.next(call) || decoder.flush(call));
  Fact done = start;
  done.kind = FactKind::kFileReadComplete;
  EXPECT_THAT(std::vector<Fact>(call.facts.begin(), call.facts.end()), ElementsAre(done));
  EXPECT_EQ(call.comm, kNoComm) << "a wait is on no communicator";
}

TEST(FileDefinition, IsReadAsItWasWrittenAndRefusedWhenDamaged) {
  const FileDefinition file{.id = 0,
                            .comm = 2,
                            .global_name = 77,
                            .mode = kFileModeRead | kFileModeAppend,
                            .name = "a/b"};
  const trace::DefinitionBytes bytes = trace::encode(file);
  ProcessDefinitions read;
  EXPECT_EQ(trace::decode_definitions(bytes, read), 0u);
  EXPECT_THAT(read.files, ElementsAre(file));
  EXPECT_EQ(trace::decode_definitions(bytes, read), 1u) << "the same id again";
  for (std::size_t payload = 0; payload < bytes.size() - 8; ++payload) {
    trace::DefinitionBytes cut = bytes;
    cut[4] = static_cast<std::byte>(payload);
    ProcessDefinitions other;
    (void)trace::decode_definitions(cut, other);
    EXPECT_TRUE(other.files.empty() || other.files[0] == file) << payload;
  }
  ProcessDefinitions other;
  FileDefinition strange = file;
  strange.mode = kAllFileModes + 1;
  EXPECT_EQ(trace::decode_definitions(trace::encode(strange), other), 1u);
}

Profile profile_of_two_files() {
  ProcessDefinitions definitions;
  for (const char* name : {"data", "log", "data"}) {
    definitions.files.push_back(
        {.id = static_cast<FileId>(definitions.files.size()), .name = name});
  }
  Profile profile;
  profile.define(definitions);
  return profile;
}

void add(Profile& profile, std::uint64_t time, const std::vector<Fact>& facts) {
  profile.add(
      {.enter_ns = 100, .leave_ns = 100 + time, .region = 1, .comm = kComm, .facts = facts});
}

Fact of(FileId file, FactKind kind, std::uint64_t asked = 0, std::uint64_t moved = 0) {
  Fact fact = transfer_fact(kind, file, kComm, {kNoOffset, asked, false});
  set_transferred(fact, moved);
  return fact;
}

TEST(FileSums, AreByNameAndInTheBytesOfTheCall) {
  Profile profile = profile_of_two_files();
  add(profile, 10, {of(0, FactKind::kFileOpened)});
  add(profile, 20, {of(0, FactKind::kFileWrite, 40, 40)});
  add(profile, 30, {of(2, FactKind::kFileRead, 40, 15)});
  add(profile, 40, {of(2, FactKind::kFileReadRequest, 8)});
  add(profile, 50,
      {of(2, FactKind::kFileReadComplete, 8, 8), of(1, FactKind::kFileWriteComplete, 5, 5)});
  EXPECT_EQ(*profile.files().find("data"), (FileTotals{.opens = 1,
                                                       .reads = 2,
                                                       .writes = 1,
                                                       .bytes_read = 23,
                                                       .bytes_written = 40,
                                                       .time = 100}));
  EXPECT_EQ(*profile.files().find("log"), (FileTotals{.bytes_written = 5}));
  EXPECT_EQ(profile.files().find("other"), nullptr);
  EXPECT_EQ(profile.totals().bytes_sent, 45u);
  EXPECT_EQ(profile.totals().bytes_received, 23u);
}

TEST(FileSums, SurviveMergingAndSerialization) {
  Profile left = profile_of_two_files();
  Profile right = profile_of_two_files();
  add(left, 20, {of(0, FactKind::kFileWrite, 40, 40)});
  add(right, 20, {of(2, FactKind::kFileWrite, 2, 2)});
  left.merge(right);
  std::vector<std::byte> bytes;
  left.serialize(bytes);
  Profile read = profile_of_two_files();
  ASSERT_TRUE(read.parse(bytes).is_ok());
  EXPECT_EQ(read.files().find("data")->bytes_written, 42u);
  add(read, 20, {of(0, FactKind::kFileWrite, 1, 1)});
  EXPECT_EQ(read.files().find("data")->bytes_written, 43u);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Profile().parse(std::span(bytes).first(size)).is_ok()) << size;
  }
}

TEST(FileSums, ShareARowBeyondTheirBound) {
  ProcessDefinitions definitions;
  for (FileId id = 0; id < FileSums::kMaxNames + 2; ++id) {
    definitions.files.push_back({.id = id, .name = "file" + std::to_string(id)});
  }
  Profile profile;
  profile.define(definitions);
  for (const FileDefinition& file : definitions.files)
    add(profile, 1, {of(file.id, FactKind::kFileWrite, 3, 3)});
  add(profile, 1, {of(4711, FactKind::kFileWrite, 3, 3)});  // not defined
  EXPECT_EQ(profile.files().find("file1023")->writes, 1u);
  EXPECT_EQ(profile.files().find("file1024"), nullptr);
  EXPECT_EQ(profile.files().others()->writes, 3u);
}

}  // namespace
}  // namespace megascope
