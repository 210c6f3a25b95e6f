#include "plugin/steps/request_commit.h"

#include "plugin/capture/rank_update.h"

#include <gmock/gmock.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

/// The two-phase commit of requests on one rank: block by block, without an exchange.
namespace megascope::steps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A server with requests of clients, and nothing else.
struct RequestServer final : LiveServer {
  std::deque<std::string> requests;
  std::vector<std::string> no_notes;

  Status open(const LiveSettings&, std::string&) override { return Status::ok(); }
  const std::vector<std::string>& notes() const override { return no_notes; }
  bool take(LiveKind, std::int32_t, std::span<const std::byte>) noexcept override { return true; }
  bool take_whole(LiveKind, std::int32_t, std::vector<std::byte>&&) noexcept override {
    return true;
  }
  bool changed_capture_requests(std::vector<std::byte>&) noexcept override { return false; }
  bool next_request(std::string& request) noexcept override {
    if (requests.empty()) return false;
    request = requests.front();
    requests.pop_front();
    return true;
  }
  void begin_end(bool, std::uint64_t) noexcept override {}
  void conclude(std::string_view) noexcept override {}
  void close(bool, std::uint64_t) noexcept override {}
};

struct RequestCommitTest : testing::Test {
  capture::Capture capture;
  RequestCommit commit{capture};
  RequestServer server;

  static std::string text_of(const TailRequest& request) {
    return {request.text.data(), request.bytes};
  }
  /// Why requests failed, as rank 0 reports it to clients.
  std::vector<std::string> failures() {
    std::vector<std::string> texts;
    const std::vector<std::byte> rank_update = capture.take_rank_update();
    capture::RankUpdateReader reader(rank_update);
    using Item = capture::RankUpdateReader::Item;
    for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) {
      if (item == Item::kRequestFailed) texts.push_back(reader.request_failed.text);
    }
    return texts;
  }
  /// A block takes effect in which all other ranks acknowledge `lowest`.
  void apply(std::uint64_t lowest) { commit.apply(commit.carried(), lowest); }
};

TEST_F(RequestCommitTest, TheSecondBlockAfterARequestDeliversIt) {
  server.requests = {"first", "second"};
  commit.take_next(server);
  EXPECT_EQ(text_of(commit.carried()), "first");
  EXPECT_FALSE(commit.has_acknowledged());
  EXPECT_EQ(commit.received_number(), 0U);
  apply(0);
  EXPECT_TRUE(commit.has_acknowledged());
  EXPECT_EQ(commit.received_number(), 1U);
  apply(0);
  EXPECT_TRUE(commit.has_acknowledged()) << "the block was filled before the request was received";
  commit.take_next(server);
  EXPECT_EQ(text_of(commit.carried()), "first") << "one request at a time";
  EXPECT_FALSE(capture.has_request());
  apply(1);
  EXPECT_FALSE(commit.has_acknowledged());
  EXPECT_TRUE(capture.has_request());
  EXPECT_THAT(failures(), IsEmpty());
  commit.take_next(server);
  EXPECT_EQ(text_of(commit.carried()), "second");
  EXPECT_EQ(commit.carried().number, 2U);
}

TEST_F(RequestCommitTest, WithoutTheAcknowledgementOfARankNoneIsDelivered) {
  server.requests = {"first", "second"};
  commit.take_next(server);
  for (int block = 0; block < 3; ++block) apply(0);
  EXPECT_FALSE(capture.has_request());
  EXPECT_FALSE(commit.has_acknowledged());
  EXPECT_THAT(failures(),
              ElementsAre("the request was rejected: some ranks no longer begin steps"));
  commit.take_next(server);
  EXPECT_EQ(text_of(commit.carried()), "second");
}

TEST_F(RequestCommitTest, ARankThatStopsRejectsItsRequestAndAllLaterOnes) {
  server.requests = {"first", "second", "third"};
  commit.reject_next(server);
  EXPECT_EQ(server.requests.size(), 3U) << "the rank has not stopped";
  commit.take_next(server);
  apply(0);
  commit.stop("late");
  EXPECT_TRUE(commit.has_acknowledged()) << "the others rely on two more blocks";
  EXPECT_THAT(failures(),
              ElementsAre("rank 0 left the step exchange before all ranks had the request: late"));
  apply(0);
  apply(1);
  EXPECT_FALSE(capture.has_request());
  EXPECT_THAT(failures(), IsEmpty()) << "it is reported once";
  commit.reject_next(server);
  EXPECT_THAT(failures(), ElementsAre("rank 0 has left the step exchange"));
  EXPECT_EQ(server.requests.size(), 1U);
}

TEST_F(RequestCommitTest, ARequestThatIsTooLongIsCut) {
  server.requests = {std::string(kMaxRequestBytes + 100, 'x')};
  commit.take_next(server);
  EXPECT_EQ(text_of(commit.carried()), std::string(kMaxRequestBytes, 'x'));
}

}  // namespace
}  // namespace megascope::steps
