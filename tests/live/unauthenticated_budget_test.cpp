#include "plugin/live/protocol/unauthenticated_budget.h"

#include <gmock/gmock.h>

namespace megascope::live {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(UnauthenticatedBudget, IsClosedUntilWhatWasOverdrawnIsPaid) {
  UnauthenticatedBudget budget(1000, 100);
  EXPECT_TRUE(budget.is_open(kSecond));
  budget.spend(2500, 0);  // 500 were there
  EXPECT_FALSE(budget.is_open(kSecond));
  EXPECT_FALSE(budget.is_open(kSecond + 1'999'000'000));
  EXPECT_TRUE(budget.is_open(kSecond + 2'001'000'000));
  EXPECT_EQ(budget.spent_bytes(), 2500U);
}

TEST(UnauthenticatedBudget, IsClosedByCpuTimeToo) {
  UnauthenticatedBudget budget(1e12, 5);
  EXPECT_TRUE(budget.is_open(kSecond));
  budget.spend(0, 125'000'000);  // 25 ms were there, and a second brings 50
  EXPECT_FALSE(budget.is_open(3 * kSecond - 10'000'000));
  EXPECT_TRUE(budget.is_open(3 * kSecond + 10'000'000));
  EXPECT_EQ(budget.spent_cpu_ns(), 125'000'000U);
}

TEST(UnauthenticatedBudget, KeepsNoMoreThanABurst) {
  UnauthenticatedBudget budget(1000, 100);
  EXPECT_TRUE(budget.is_open(kSecond));
  EXPECT_TRUE(budget.is_open(1000 * kSecond));
  budget.spend(501, 0);
  EXPECT_FALSE(budget.is_open(1000 * kSecond));
}

TEST(UnauthenticatedBudget, AClockThatIsSetBackBringsNothingAndTakesNothing) {
  UnauthenticatedBudget budget(1000, 100);
  EXPECT_TRUE(budget.is_open(10 * kSecond));
  budget.spend(600, 0);
  EXPECT_FALSE(budget.is_open(kSecond));
  EXPECT_TRUE(budget.is_open(2 * kSecond));
}

TEST(UnauthenticatedTurn, GoesToWhoHasWaitedLongest) {
  UnauthenticatedBudget budget(1000, 100);
  UnauthenticatedTurn first(&budget);
  UnauthenticatedTurn second(&budget);
  ASSERT_TRUE(first.has_come(kSecond));
  budget.spend(1000, 0);  // 500 were there
  EXPECT_FALSE(first.has_come(kSecond));
  EXPECT_FALSE(second.has_come(kSecond));
  const std::int64_t paid_ns = kSecond + 501'000'000;
  EXPECT_FALSE(second.has_come(paid_ns)) << "though it asks first";
  EXPECT_TRUE(first.has_come(paid_ns));
  budget.spend(1000, 0);
  EXPECT_FALSE(second.has_come(paid_ns + 100'000'000));
  EXPECT_FALSE(first.has_come(paid_ns + 400'000'000));
  EXPECT_FALSE(first.has_come(paid_ns + 1'001'000'000)) << "it was served, and goes last";
  EXPECT_TRUE(second.has_come(paid_ns + 1'001'000'000));
}

TEST(UnauthenticatedTurn, IsLostByWhoDoesNotAskForASecondOrGoes) {
  UnauthenticatedBudget budget(1000, 100);
  UnauthenticatedTurn last(&budget);
  {
    UnauthenticatedTurn silent(&budget);
    UnauthenticatedTurn gone(&budget);
    ASSERT_TRUE(last.has_come(kSecond));
    budget.spend(1000, 0);
    EXPECT_FALSE(gone.has_come(kSecond));
    EXPECT_FALSE(silent.has_come(kSecond));
    EXPECT_FALSE(last.has_come(kSecond));
    EXPECT_FALSE(last.has_come(kSecond + 900'000'000));
    EXPECT_TRUE(last.has_come(kSecond + 1'100'000'000));
    budget.spend(2000, 0);
    EXPECT_FALSE(gone.has_come(kSecond + 1'200'000'000));
  }
  EXPECT_TRUE(last.has_come(kSecond + 3'000'000'000));
  EXPECT_TRUE(UnauthenticatedTurn(nullptr).has_come(0));
}

TEST(UnauthenticatedCharge, ChargesBytesAndTheThreadsCpuTime) {
  UnauthenticatedBudget budget(1000, 100);
  {
    UnauthenticatedCharge charge(&budget);
    charge.add_bytes(17);
    volatile unsigned work = 0;
    for (unsigned i = 0; i < 3'000'000; ++i) work = work + i;
  }
  EXPECT_EQ(budget.spent_bytes(), 17U);
  EXPECT_GT(budget.spent_cpu_ns(), 100'000U);
  const UnauthenticatedCharge of_nothing(nullptr);
}

}  // namespace
}  // namespace megascope::live
