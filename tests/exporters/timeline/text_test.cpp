#include "exporters/common/json_text.h"
#include "exporters/common/utf8.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

namespace megascope::test {
namespace {

using timeline::json_escaped;
using timeline::valid_utf8;

constexpr const char* kReplacement = "\xEF\xBF\xBD";

TEST(ValidUtf8, KeepsWhatIsWellFormed) {
  for (const std::string text :
       {"", "plain", "\xC2\xA2", "\xE2\x82\xAC", "\xF0\x9D\x84\x9E", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesWhatIsNot) {
  EXPECT_EQ(valid_utf8("a\xFFz"), std::string("a") + kReplacement + "z");
  EXPECT_EQ(valid_utf8("\xC0\x80"), std::string(kReplacement) + kReplacement) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), std::string(kReplacement) + kReplacement + kReplacement)
      << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").size(), 12U) << "beyond U+10FFFF";
  EXPECT_EQ(valid_utf8("\xE2\x82"), std::string(kReplacement) + kReplacement) << "cut off";
}

TEST(JsonEscaped, MakesAJsonStringOfAnyBytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const auto parsed = nlohmann::json::parse('"' + json_escaped(bytes) + '"');
  EXPECT_EQ(parsed.get<std::string>(), valid_utf8(bytes));
}

TEST(JsonText, WritesTimesInMicrosecondsWithoutLosingNs) {
  timeline::JsonText text;
  text.time_us(0);
  text << " ";
  text.time_us(1'700'000'000'123'456'789U);
  text << " ";
  text.time_us(5);
  text << " " << std::numeric_limits<std::int64_t>::min() << " ";
  text.hex(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(text.view(), "0.000 1700000000123456.789 0.005 -9223372036854775808 ffffffffffffffff");
}

}  // namespace
}  // namespace megascope::test
