#include "plugin/live/http/access.h"

#include <gmock/gmock.h>

#include <set>

namespace megascope::live {
namespace {

TEST(LiveToken, HasThirtyTwoDigitsAndIsAnotherEachTime) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    std::string token;
    ASSERT_TRUE(make_token(token).is_ok());
    EXPECT_EQ(token.size(), 32U);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
    tokens.insert(token);
  }
  EXPECT_EQ(tokens.size(), 100U);
}

TEST(LiveToken, IsFoundInATarget) {
  EXPECT_EQ(token_in_target("/?token=12"), "12");
  EXPECT_EQ(token_in_target("/ws/v1?a=b&token=12&c"), "12");
  EXPECT_EQ(token_in_target("/ws/v1?atoken=12"), "");
  EXPECT_EQ(token_in_target("/token=12"), "");
  EXPECT_EQ(token_in_target("/?&&&"), "");
  EXPECT_EQ(path_of("/ws/v1?token=12?x"), "/ws/v1");
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

unsigned status_of(const Access& access, std::string_view host, std::string_view origin) {
  return access
      .judge({.target = "/?token=t",
              .authorization = {},
              .host = host,
              .origin = origin,
              .has_origin = !origin.empty()})
      .status;
}

TEST(LiveAccess, TakesNamesThatTheUserAllows) {
  const Access access("t", {"login.cluster", "proxy:443"});
  EXPECT_EQ(status_of(access, "login.cluster:8000", ""), 0U);
  EXPECT_EQ(status_of(access, "LOGIN.cluster", ""), 0U);
  EXPECT_EQ(status_of(access, "proxy:443", "https://proxy:443"), 0U);
  EXPECT_EQ(status_of(access, "proxy:444", ""), 403U) << "a port that was said counts";
  EXPECT_EQ(status_of(access, "localhost:1", "https://login.cluster"), 0U)
      << "a proxy that asks as localhost";
  EXPECT_EQ(status_of(access, "localhost:1", "https://other.cluster"), 403U);
  EXPECT_EQ(status_of(access, "localhost:1", "http://localhost:2"), 403U)
      << "another server of this machine";
  EXPECT_EQ(status_of(access, "[::1]:1", "http://[::1]:1"), 0U);
  EXPECT_EQ(status_of(access, "[::1", ""), 403U);
  EXPECT_EQ(status_of(access, "", ""), 403U);
  EXPECT_EQ(status_of(access, "localhost:", ""), 403U);
  EXPECT_EQ(status_of(access, "localhost:123456", ""), 403U);
}

TEST(LiveAccess, NoTokenIsNeverRight) {
  const Access access("t", {});
  EXPECT_EQ(
      access.judge({.target = "/?token=", .authorization = {}, .host = "localhost", .origin = {}})
          .status,
      401U);
  EXPECT_EQ(
      access.judge({.target = "/", .authorization = "Bearer ", .host = "localhost", .origin = {}})
          .status,
      401U);
  EXPECT_EQ(
      access
          .judge({.target = "/", .authorization = "bearer  t ", .host = "localhost", .origin = {}})
          .status,
      0U);
}

}  // namespace
}  // namespace megascope::live
