#include "core/config/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace megascope::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Environment, GivesEntriesByPrefix) {
  ASSERT_TRUE(set_environment_value("ENVTEST_ONE", "1"));
  EXPECT_THAT(environment_entries("ENVTEST_"), ElementsAre("ENVTEST_ONE=1"));
  EXPECT_THAT(environment_entries("ENVTEST_NOT_SET"), IsEmpty());
}

TEST(Environment, GivesAnEmptyTextForWhatIsNotSet) {
  EXPECT_EQ(environment_value("ENVTEST_NOT_SET"), "");
  ASSERT_TRUE(set_environment_value("ENVTEST_TWO", "a=b"));
  EXPECT_EQ(environment_value("ENVTEST_TWO"), "a=b");
}

TEST(Environment, RefusesWhatIsNoName) { EXPECT_FALSE(set_environment_value("A=B", "x")); }

}  // namespace
}  // namespace megascope::config
