#include "analysis/detect/transfers.h"

#include <gmock/gmock.h>

namespace megascope::detect {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::SizeIs;

/// Adds one message that its receiver waits for.
void add_message(Transfers& transfers, const Envelope& envelope) {
  TransferLog sender;
  sender.sent(envelope, 1'000);
  transfers.add(sender);
  TransferLog receiver;
  receiver.received(envelope, 500, 500, 11'000, 0);
  receiver.end_call(1);
  transfers.add(receiver);
}

TEST(Links, AreSeparateAlsoIfRanksAndSizesHaveTheSameExclusiveOr) {
  Transfers transfers;
  add_message(transfers, {.comm_name = 5, .from = 0, .to = 1, .tag = 3, .bytes = 2});
  add_message(transfers, {.comm_name = 5, .from = 0, .to = 2, .tag = 3, .bytes = 1});
  EXPECT_THAT(transfers.take_links(), ElementsAre(FieldsAre(0u, 1u, 2u, 3, SizeIs(1)),
                                                  FieldsAre(0u, 2u, 1u, 3, SizeIs(1))));
}

}  // namespace
}  // namespace megascope::detect
