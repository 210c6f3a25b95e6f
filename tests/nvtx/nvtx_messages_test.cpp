#include "plugin/nvtx/messages.h"
#include "plugin/nvtx/wide_text.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace megascope::nvtx {
namespace {

TEST(Messages, WhatIsTheSameIsOneAndWhatDiffersIsNot) {
  const DomainId solver = domain("solver");
  ASSERT_NE(solver, kDefaultDomain);
  EXPECT_EQ(domain("solver"), solver);
  const Message* plain = message(MessageKey{kDefaultDomain, 0, "text"});
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(message(MessageKey{kDefaultDomain, 0, std::string("te") + "xt"}), plain);
  const std::set<RegionId> regions = {plain->region, message(MessageKey{solver, 0, "text"})->region,
                                      message(MessageKey{kDefaultDomain, 7, "text"})->region,
                                      message(MessageKey{kDefaultDomain, 0, "texu"})->region,
                                      message(MessageKey{kDefaultDomain, 0, "tex"})->region};
  EXPECT_EQ(regions.size(), 5u);
  EXPECT_EQ(domain_of(message(MessageKey{solver, 0, "text"})->region), solver);
  EXPECT_EQ(domain_of(plain->region), kDefaultDomain);
  EXPECT_EQ(domain_of(kNoRegion), kMaxDomains);
  EXPECT_EQ(message_of_number(plain->number), plain);
  EXPECT_EQ(message_of_number(0), nullptr);
  EXPECT_EQ(message_of_number(~std::uint64_t{0}), nullptr);
}

TEST(Messages, ADomainInATextIsNotTheDomain) {
  const DomainId a = domain("a");
  const DomainId ab = domain("a:b");
  const RegionId of_default = message(MessageKey{kDefaultDomain, 0, "a:b:c"})->region;
  const RegionId of_a = message(MessageKey{a, 0, "b:c"})->region;
  const RegionId of_ab = message(MessageKey{ab, 0, "c"})->region;
  EXPECT_EQ((std::set{of_default, of_a, of_ab}).size(), 3u);
  EXPECT_EQ(domain_of(of_default), kDefaultDomain);
  EXPECT_EQ(domain_of(of_a), a);
  EXPECT_EQ(domain_of(of_ab), ab);
}

TEST(Messages, TextsOfAllLengthsAreReportedApartByEveryByte) {
  for (std::size_t size = 1; size <= 40; ++size) {
    const std::string text(size, 'x');
    const Message* whole = message(MessageKey{kDefaultDomain, 0, text});
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = '\xff';
      const Message* changed = message(MessageKey{kDefaultDomain, 0, other});
      EXPECT_NE(changed, whole);
      EXPECT_EQ(changed->key.text, other);
    }
  }
}

TEST(Messages, AnAddressThatIsUsedAgainIsReadAgain) {
  char text[16] = "first";
  const Message* first = message(ReportedText{kDefaultDomain, 0, text});
  EXPECT_EQ(first->key.text, "first");
  EXPECT_EQ(message(ReportedText{kDefaultDomain, 0, text}), first);
  const DomainId other = domain("of an address");
  EXPECT_EQ(message(ReportedText{other, 0, text})->key.domain, other);
  for (const char* next : {"second", "secon", "", "first"}) {
    std::snprintf(text, sizeof text, "%s", next);
    EXPECT_EQ(message(ReportedText{kDefaultDomain, 0, text})->key.text,
              *next == '\0' ? kNoText : std::string_view(next));
  }
  EXPECT_EQ(message(ReportedText{kDefaultDomain, 0, nullptr})->key.text, kNoText);
}

TEST(Messages, ThreadsThatReportTheSameGetTheSame) {
  std::vector<std::vector<const Message*>> found(4);
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 2000; ++i)
        mine.push_back(message(MessageKey{kDefaultDomain, 3, "shared " + std::to_string(i % 500)}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, found.front());
  EXPECT_EQ(std::set<const Message*>(found[0].begin(), found[0].end()).size(), 500u);
}

TEST(Messages, CategoriesHaveTheNamesThatTheyAreGiven) {
  EXPECT_EQ(category_name(kDefaultDomain, 0), "nvtx");
  EXPECT_EQ(category_name(kDefaultDomain, 9), "category 9");
  name_category(kDefaultDomain, 9, "nine");
  EXPECT_EQ(category_name(kDefaultDomain, 9), "nine");
  EXPECT_EQ(category_name(domain("elsewhere"), 9), "category 9");
  EXPECT_EQ(known_domain(kMaxDomains + 5), kDefaultDomain);
}

TEST(WideText, IsUtf8OfWholeCharacters) {
  EXPECT_EQ(WideText(nullptr).view(), "");
  EXPECT_EQ(WideText(L"a\u00e9\u2264\U0001F600").view(), "a\xc3\xa9\xe2\x89\xa4\xf0\x9f\x98\x80");
  const wchar_t odd[] = {wchar_t{0xD800}, wchar_t{0x110000}, static_cast<wchar_t>(0xFFFFFFFFU),
                         wchar_t{0}};
  EXPECT_EQ(WideText(odd).view(), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  const std::wstring large = L"a" + std::wstring(1000, L'\u2264');
  EXPECT_EQ(WideText(large.c_str()).view().size(), 1 + 333 * 3);
}

}  // namespace
}  // namespace megascope::nvtx
