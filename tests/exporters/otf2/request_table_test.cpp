#include "exporters/otf2/request_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace megascope::otf2 {
namespace {

TEST(RequestTable, GivesBackWhatWasStartedOnce) {
  RequestTable table;
  table.start({7, RequestTable::Started::kSend, CollectiveOp::kNone});
  EXPECT_EQ(table.complete(7).started, RequestTable::Started::kSend);
  EXPECT_EQ(table.complete(7).started, RequestTable::Started::kNone);
  EXPECT_EQ(table.open_count(), 0u);
}

TEST(RequestTable, AStartedRequestReplacesOneOfTheSameName) {
  RequestTable table;
  table.start({7, RequestTable::Started::kSend, CollectiveOp::kNone});
  table.start({7, RequestTable::Started::kCollective, CollectiveOp::kScan});
  EXPECT_EQ(table.open_count(), 1u);
  EXPECT_EQ(table.complete(7).operation, CollectiveOp::kScan);
}

TEST(RequestTable, NoRequestIsNeverThere) {
  RequestTable table;
  table.start({kNoRequest, RequestTable::Started::kSend, CollectiveOp::kNone});
  EXPECT_EQ(table.complete(kNoRequest).started, RequestTable::Started::kNone);
  EXPECT_EQ(table.open_count(), 0u);
}

TEST(RequestTable, AgreesWithAMapOverManyRandomSteps) {
  RequestTable table;
  std::map<RequestId, RequestTable::Started> expected;
  std::mt19937 random(1);
  for (int step = 0; step < 200'000; ++step) {
    const RequestId request = static_cast<RequestId>(1 + random() % 3000);
    if (random() % 2 == 0) {
      const RequestTable::Started kind = random() % 2 == 0 ? RequestTable::Started::kSend
                                                           : RequestTable::Started::kReceive;
      table.start({request, kind, CollectiveOp::kNone});
      expected[request] = kind;
    } else {
      const auto found = expected.find(request);
      ASSERT_EQ(table.complete(request).started,
                found == expected.end() ? RequestTable::Started::kNone : found->second);
      if (found != expected.end()) expected.erase(found);
    }
    ASSERT_EQ(table.open_count(), expected.size());
  }
}

}  // namespace
}  // namespace megascope::otf2
