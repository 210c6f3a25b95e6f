// Files and what is done with them, as otf2-print shows it and the judge finds it.
#include "core/record/file_fact.h"
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Lines = std::vector<std::string>;

FileId add_file(SampleProcess& process, const std::string& name, CommId comm = kWorld,
                std::uint64_t global_name = 1,
                std::uint16_t mode = kFileModeRead | kFileModeWrite) {
  auto& files = process.definitions().files;
  const auto id = static_cast<FileId>(files.size());
  files.push_back({.id = id, .comm = comm, .global_name = global_name, .mode = mode, .name = name});
  return id;
}

Fact about(FactKind kind, FileId file, CommId comm = kWorld) { return file_fact(kind, file, comm); }
Fact transfer(FactKind kind, FileId file, std::uint64_t requested, std::uint64_t moved,
              RequestId request = kNoRequest, std::uint64_t offset = kNoOffset,
              bool is_collective = false) {
  Fact fact = transfer_fact(kind, file, kWorld, {offset, requested, is_collective});
  set_transferred(fact, moved);
  fact.request = request;
  return fact;
}
Fact of(Fact fact, RequestId request) {
  fact.request = request;
  return fact;
}

struct Exported {
  Exported(const std::vector<SampleProcess>& processes, std::int32_t world_size) {
    ExportResult result;
    const Status status = export_run(directory.path(), world_size, processes, 1, result);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  std::string anchor() const { return directory.path() + "/trace.otf2"; }
  /// Events of files, without the handle's name.
  Lines events(std::uint64_t location = 0) const {
    Lines lines;
    for (std::string line : printed_events(anchor(), location)) {
      if (line.starts_with("IO_")) lines.push_back(std::move(line));
    }
    return lines;
  }
  TemporaryDirectory directory;
};

const std::string kUndefined = "18446744073709551615";
constexpr char kData[] = "Handle: \"[MPI-IO]file://data\" <0>, ";

TEST(Otf2Files, HaveOneHandleForAllThatOpenedThemTogether) {
  std::vector<SampleProcess> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    SampleProcess& process = ranks.emplace_back(rank, 2);
    const FileId data = add_file(process, "data", kWorld, 11,
                                 kFileModeWrite | kFileModeCreate | kFileModeAppend);
    const FileId own = add_file(process, "own", kSelf, 100 + static_cast<std::uint64_t>(rank));
    process.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, data)});
    process.call("MPI_File_open", 30, 40, {about(FactKind::kFileOpened, own, kSelf)});
    process.call("MPI_File_close", 50, 60, {about(FactKind::kFileClosed, own, kSelf)});
    process.call("MPI_File_close", 70, 80, {about(FactKind::kFileClosed, data)});
  }
  const Exported run(ranks, 2);
  EXPECT_THAT(printed_definitions(run.anchor(), "IO_HANDLE"),
              ElementsAre(AllOf(HasSubstr("File: \"file://data\" <0>"),
                                HasSubstr("Communicator: \"MPI_COMM_WORLD\"")),
                          AllOf(HasSubstr("File: \"file://own\" <1>"),
                                HasSubstr("Communicator: \"MPI_COMM_SELF\"")),
                          AllOf(HasSubstr("File: \"file://own\" <1>"),
                                HasSubstr("Communicator: \"MPI_COMM_SELF\""))));
  EXPECT_EQ(run.events()[0],
            std::string("IO_CREATE_HANDLE 20 ") + kData +
                "Access Mode: WRITE_ONLY, Creation Flags: {CREATE}, Status Flags: {APPEND}");
  EXPECT_THAT(run.events()[3], HasSubstr("IO_DESTROY_HANDLE 80 "));
  const Judgement judgement = judge(run.anchor());
  EXPECT_EQ(judgement.exit_code, 0) << judgement.report;
  EXPECT_EQ(judgement.report["io"]["files_opened"], 4);
}

TEST(Otf2Files, BlockingOperationsLastAsLongAsTheCall) {
  SampleProcess process(0, 1);
  const FileId file = add_file(process, "data");
  process.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
  process.call("MPI_File_read_at", 30, 40,
               {transfer(FactKind::kFileRead, file, 100, 60, kNoRequest, 4096)});
  process.call("MPI_File_write_all", 50, 60,
               {transfer(FactKind::kFileWrite, file, 8, 8, kNoRequest, kNoOffset, true)});
  process.call("MPI_File_sync", 70, 80, {about(FactKind::kFileSync, file)});
  process.call("MPI_File_get_size", 81, 82, {about(FactKind::kFileSize, file)});
  const Exported run({process}, 1);
  const std::string data = kData;
  EXPECT_THAT(
      run.events(),
      ElementsAre(HasSubstr("IO_CREATE_HANDLE 20 "),
                  "IO_OPERATION_BEGIN 30 " + data +
                      "Mode: READ, Operation Flags: NONE, Bytes Request: 100, Matching Id: "
                      "4294967296 ADDITIONAL ATTRIBUTES: (\"file_offset\" <83>; UINT64; 4096)",
                  "IO_OPERATION_COMPLETE 40 " + data + "Bytes Result: 60, Matching Id: 4294967296",
                  "IO_OPERATION_BEGIN 50 " + data +
                      "Mode: WRITE, Operation Flags: {COLLECTIVE}, Bytes Request: 8, Matching Id: "
                      "4294967297",
                  "IO_OPERATION_COMPLETE 60 " + data + "Bytes Result: 8, Matching Id: 4294967297",
                  "IO_OPERATION_BEGIN 70 " + data +
                      "Mode: FLUSH, Operation Flags: {COLLECTIVE}, Bytes Request: " + kUndefined +
                      ", Matching Id: 4294967298",
                  "IO_OPERATION_COMPLETE 80 " + data + "Bytes Result: " + kUndefined +
                      ", Matching Id: 4294967298"));
}

TEST(Otf2Files, NonblockingOperationsAreIssuedTestedAndCompleted) {
  SampleProcess process(0, 1);
  const FileId file = add_file(process, "data");
  process.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
  process.call("MPI_File_iwrite", 30, 40,
               {transfer(FactKind::kFileWriteRequest, file, 100, 100, 5)});
  process.call("MPI_File_iread", 41, 42, {transfer(FactKind::kFileReadRequest, file, 7, 7, 6)});
  process.call("MPI_Test", 50, 60, {of(about(FactKind::kFileTest, file), 5)});
  process.call("MPI_Waitall", 70, 80,
               {transfer(FactKind::kFileWriteComplete, file, 100, 90, 5),
                of(about(FactKind::kFileCancelled, file), 6)});
  const Exported run({process}, 1);
  const std::string data = kData;
  EXPECT_THAT(
      run.events(),
      ElementsAre(
          HasSubstr("IO_CREATE_HANDLE 20 "),
          "IO_OPERATION_BEGIN 30 " + data +
              "Mode: WRITE, Operation Flags: {NON_BLOCKING}, Bytes Request: 100, Matching Id: 5",
          "IO_OPERATION_ISSUED 40 " + data + "Matching Id: 5", HasSubstr("IO_OPERATION_BEGIN 41 "),
          HasSubstr("IO_OPERATION_ISSUED 42 "), "IO_OPERATION_TEST 60 " + data + "Matching Id: 5",
          "IO_OPERATION_COMPLETE 80 " + data + "Bytes Result: 90, Matching Id: 5",
          "IO_OPERATION_CANCELLED 80 " + data + "Matching Id: 6"));
  EXPECT_EQ(judge(run.anchor()).exit_code, 0);
}

TEST(Otf2Files, SeeksReportWhereTheyLedAsFarAsIsKnown) {
  SampleProcess process(0, 1);
  const FileId file = add_file(process, "data");
  process.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
  process.call("MPI_File_seek", 30, 40, {seek_fact(file, kWorld, {-8, SeekFrom::kEnd, 92})});
  process.call("MPI_File_seek_shared", 50, 60,
               {seek_fact(file, kWorld, {4, SeekFrom::kCurrent, kNoOffset})});
  const Exported run({process}, 1);
  EXPECT_EQ(run.events()[1], std::string("IO_SEEK 40 ") + kData +
                                 "Offset Request: -8, Whence: FROM_END, Offset Result: 92");
  EXPECT_THAT(run.events()[2],
              AllOf(HasSubstr("Whence: FROM_CURRENT"), HasSubstr("Offset Result: " + kUndefined)));
}

TEST(Otf2Files, AreDeletedByNameAndOnceWhenClosed) {
  std::vector<SampleProcess> ranks;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    SampleProcess& process = ranks.emplace_back(rank, 2);
    const FileId file = add_file(process, "data", kWorld, 1,
                                 kFileModeWrite | kFileModeDeleteOnClose);
    const FileId name = add_file(process, "old", kNoComm, 2, kFileModeNone);
    process.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
    process.call("MPI_File_close", 30, 40, {about(FactKind::kFileClosed, file)});
    if (rank == 1)
      process.call("MPI_File_delete", 50, 60, {about(FactKind::kFileDeleted, name, kNoComm)});
  }
  const Exported run(ranks, 2);
  EXPECT_THAT(
      run.events(0),
      ElementsAre(HasSubstr("IO_CREATE_HANDLE"), HasSubstr("IO_DESTROY_HANDLE 40 "),
                  "IO_DELETE_FILE 40 I/O Paradigm: \"MPI-IO\" <0>, File: \"file://data\" <0>"));
  EXPECT_THAT(
      run.events(1),
      ElementsAre(HasSubstr("IO_CREATE_HANDLE"), HasSubstr("IO_DESTROY_HANDLE 40 "),
                  "IO_DELETE_FILE 60 I/O Paradigm: \"MPI-IO\" <0>, File: \"file://old\" <1>"));
  EXPECT_EQ(judge(run.anchor()).exit_code, 0);
}

TEST(Otf2Files, WhoseOpeningIsNotInTheTraceAreThereFromTheBeginning) {
  SampleProcess process(0, 1);
  const FileId file = add_file(process, "data");
  process.call("MPI_File_write", 30, 40, {transfer(FactKind::kFileWrite, file, 8, 8)});
  const Exported run({process}, 1);
  EXPECT_THAT(printed_definitions(run.anchor(), "IO_HANDLE"),
              ElementsAre(HasSubstr("Flags: {PRE_CREATED}")));
  EXPECT_THAT(printed_definitions(run.anchor(), "IO_PRE_CREATED_HANDLE_STATE"),
              ElementsAre(HasSubstr("Access Mode: READ_WRITE, Status Flags: NONE")));
  EXPECT_EQ(judge(run.anchor()).exit_code, 0);
}

TEST(Otf2Files, ThatTheTraceDoesNotDefineHaveNoEvents) {
  SampleProcess process(0, 1);
  for (const FactKind kind :
       {FactKind::kFileOpened, FactKind::kFileWrite, FactKind::kFileReadRequest,
        FactKind::kFileSeek, FactKind::kFileClosed, FactKind::kFileDeleted, FactKind::kFileSync}) {
    process.call("MPI_File_write", 30, 40, {about(kind, 4711)});
  }
  const Exported run({process}, 1);
  EXPECT_THAT(run.events(), testing::IsEmpty());
  EXPECT_EQ(judge(run.anchor()).exit_code, 0);
}

TEST(Otf2Files, JudgeFindsWhatIsWrong) {
  const auto defects_of = [](const std::vector<SampleProcess>& ranks) {
    const Exported run(ranks, static_cast<std::int32_t>(ranks.size()));
    return judge(run.anchor()).report["defects"].dump();
  };
  SampleProcess too_much(0, 1);
  FileId file = add_file(too_much, "data");
  too_much.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
  Fact fact = transfer(FactKind::kFileWrite, file, 8, 8);
  fact.bytes_received = static_cast<std::uint64_t>(-1);  // 9 bytes of 8
  too_much.call("MPI_File_write", 30, 40, {fact});
  too_much.call("MPI_Wait", 50, 60, {transfer(FactKind::kFileReadComplete, file, 8, 8, 77)});
  EXPECT_THAT(defects_of({too_much}), AllOf(HasSubstr("9 bytes of 8"), HasSubstr("has not begun")));

  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  file = add_file(first, "data");
  add_file(second, "data");
  first.call("MPI_File_open", 10, 20, {about(FactKind::kFileOpened, file)});
  first.call("MPI_File_sync", 30, 40, {about(FactKind::kFileSync, file)});
  EXPECT_THAT(defects_of({first, second}), AllOf(HasSubstr("not created once by ranks [1]"),
                                                 HasSubstr("do not do the same together")));
}

}  // namespace
}  // namespace megascope::test
