#include "core/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <limits>

namespace megascope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitList, SplitsAtEachSeparatorAndLeavesOutEmptyParts) {
  EXPECT_THAT(split_list("a,b+c:d"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(split_list(" a ,,\tb "), ElementsAre("a", "b"));
  EXPECT_THAT(split_list(""), IsEmpty());
  EXPECT_THAT(split_list(",+:"), IsEmpty());
}

TEST(ParseSizeBytes, TakesBinaryMultiplesInAnyCase) {
  EXPECT_EQ(parse_size_bytes("0"), 0u);
  EXPECT_EQ(parse_size_bytes("17"), 17u);
  EXPECT_EQ(parse_size_bytes("17b"), 17u);
  EXPECT_EQ(parse_size_bytes("4k"), 4096u);
  EXPECT_EQ(parse_size_bytes("4KiB"), 4096u);
  EXPECT_EQ(parse_size_bytes(" 1.5 MB "), 1572864u);
  EXPECT_EQ(parse_size_bytes("2G"), 2147483648u);
  EXPECT_EQ(parse_size_bytes("1T"), 1099511627776u);
}

TEST(ParseSizeBytes, RefusesEverythingElse) {
  for (const char* bad : {"", " ", "G", "-1", "+1", "1X", "1KK", "1 K K", "0x10", "inf", "nan",
                          "1e3", ".5", "8E", "9223372036854775808", "1,5G"}) {
    EXPECT_EQ(parse_size_bytes(bad), std::nullopt) << bad;
  }
}

TEST(ParseCount, TakesWholeNumbersThatFit) {
  EXPECT_EQ(parse_count("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_count("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_count("-1"), std::nullopt);
  EXPECT_EQ(parse_count("1.0"), std::nullopt);
  EXPECT_EQ(parse_count(""), std::nullopt);
}

TEST(HumanBytes, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1258291), "1.2 MiB");
  EXPECT_EQ(human_bytes(1048575), "1 MiB");
  EXPECT_EQ(human_bytes(16106127360), "15 GiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(HumanDuration, ChoosesTheUnit) {
  EXPECT_EQ(human_duration(0), "0 s");
  EXPECT_EQ(human_duration(850), "850 ns");
  EXPECT_EQ(human_duration(999'999), "1 ms");
  EXPECT_EQ(human_duration(3'400'000), "3.4 ms");
  EXPECT_EQ(human_duration(12'500'000'000), "12.5 s");
  EXPECT_EQ(human_duration(125'000'000'000), "2 min 5 s");
  EXPECT_EQ(human_duration(12'000'000'000'000), "3 h 20 min");
  EXPECT_EQ(human_duration(-3'400'000), "-3.4 ms");
  EXPECT_EQ(human_duration(std::numeric_limits<std::int64_t>::min()), "-2562047 h 47 min");
}

TEST(HumanCount, HasThreeDigitsFromAThousandOn) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1 k");
  EXPECT_EQ(human_count(12345), "12.3 k");
  EXPECT_EQ(human_count(999'999), "1 M");
  EXPECT_EQ(human_count(4'560'000), "4.56 M");
}

TEST(PercentText, HasTwoDigits) {
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(0.00001), "< 0.01 %");
  EXPECT_EQ(percent_text(0.0012), "0.12 %");
  EXPECT_EQ(percent_text(0.034), "3.4 %");
  EXPECT_EQ(percent_text(0.5), "50 %");
}

TEST(HumanNumbers, AreTheSameInAllLocales) {
  for (const char* locale : {"C", "C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;  // not installed
    EXPECT_EQ(percent_text(0.034), "3.4 %") << locale;
    EXPECT_EQ(human_bytes(1'300'000), "1.24 MiB") << locale;
  }
  std::setlocale(LC_ALL, "C");
}

TEST(RankList, JoinsRangesOfThreeAndMore) {
  EXPECT_EQ(rank_list({1, 3, 4, 6, 7, 8}), "1, 3, 4, 6-8");
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestName, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("BUFER_SIZE", {"OUT", "BUFFER_SIZE"}), "BUFFER_SIZE");
  EXPECT_EQ(nearest_name("SOMETHING", {"OUT", "BUFFER_SIZE"}), "");
}

TEST(ShellQuoted, EscapesSingleQuotes) {
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

TEST(Joined, PutsTheSeparatorBetween) {
  EXPECT_EQ(joined({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(joined({}, ", "), "");
}

}  // namespace
}  // namespace megascope
