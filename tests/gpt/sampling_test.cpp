#include "examples/gpt/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace gpt {
namespace {

/// Four bytes with these probabilities, all others with next to none.
std::vector<float> logits_of(const std::vector<std::pair<int, double>>& probabilities) {
  std::vector<float> logits(kVocabulary, -50.0F);
  for (const auto& [byte, probability] : probabilities)
    logits[static_cast<std::size_t>(byte)] = static_cast<float>(std::log(probability));
  return logits;
}

const std::vector<float> kLogits = logits_of({{'a', 0.1}, {'b', 0.4}, {'c', 0.2}, {'d', 0.3}});

/// How often each is taken.
std::map<char, double> shares(const Sampling& sampling,
                              const std::vector<float>& logits = kLogits) {
  constexpr int kTimes = 20000;
  const std::vector<Candidate> all = ranked(logits.data());
  std::map<char, double> taken;
  for (int i = 0; i < kTimes; ++i)
    taken[static_cast<char>(
        choose(all, sampling, hash(sampling.seed, 0, static_cast<std::uint64_t>(i)))
            .byte)] += 1.0 / kTimes;
  return taken;
}

TEST(Ranked, TheLikeliestComeFirstWithTheirProbabilities) {
  const std::vector<Candidate> all = ranked(kLogits.data());
  ASSERT_EQ(all.size(), 256U);
  EXPECT_EQ(std::string({static_cast<char>(all[0].byte), static_cast<char>(all[1].byte),
                         static_cast<char>(all[2].byte), static_cast<char>(all[3].byte)}),
            "bdca");
  EXPECT_NEAR(all[0].probability, 0.4, 1e-5);
  EXPECT_NEAR(all[3].probability, 0.1, 1e-5);
  EXPECT_NEAR(
      std::accumulate(all.begin(), all.end(), 0.0,
                      [](double sum, const Candidate& one) { return sum + one.probability; }),
      1, 1e-5);
}

TEST(Ranked, NotANumberIsTheUnlikeliest) {
  std::vector<float> logits = kLogits;
  logits['b'] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Candidate> all = ranked(logits.data());
  EXPECT_EQ(all.front().byte, 'd');
  EXPECT_EQ(all.back().byte, 'b');
}

TEST(Choose, WithoutTemperatureItIsTheLikeliest) {
  const std::map<char, double> taken = shares({.temperature = 0});
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.begin()->first, 'b');
}

TEST(Choose, EachIsTakenAsOftenAsItIsLikely) {
  std::map<char, double> taken = shares({.temperature = 1});
  for (const auto& [byte, probability] : {std::pair{'a', 0.1}, {'b', 0.4}, {'c', 0.2}, {'d', 0.3}})
    EXPECT_NEAR(taken[byte], probability, 0.015) << byte;
}

TEST(Choose, HighTemperaturesMakeThemAlike) {
  std::map<char, double> taken = shares({.temperature = 2});
  const double total = std::sqrt(0.1) + std::sqrt(0.2) + std::sqrt(0.3) + std::sqrt(0.4);
  EXPECT_NEAR(taken['a'], std::sqrt(0.1) / total, 0.015);
  EXPECT_NEAR(taken['b'], std::sqrt(0.4) / total, 0.015);
}

TEST(Choose, TopKLeavesSoMany) {
  std::map<char, double> taken = shares({.temperature = 1, .top_k = 2});
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_NEAR(taken['b'], 4.0 / 7, 0.015);
  EXPECT_NEAR(taken['d'], 3.0 / 7, 0.015);
}

TEST(Choose, TopPLeavesAsManyAsHaveThatProbability) {
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.3F}).size(), 1U);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.5F}).size(), 2U);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.8F}).size(), 3U);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 1.0F}).size(), 4U);
  EXPECT_EQ(shares({.temperature = 1, .top_k = 1000}).size(), 4U);
}

TEST(Choose, ModelsThatHaveFailedGetAByteAllTheSame) {
  const std::vector<float> nothing(kVocabulary, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.5F}, nothing).size(), 1U);
}

}  // namespace
}  // namespace gpt
