#include "plugin/live/model/divergence.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace megascope::live {
namespace {

/// How often there was an alert, and at which value first.
struct Alerts {
  int count = 0;
  int first = -1;
};
Alerts alerts_of(const std::vector<double>& values, double factor = 1.5) {
  Divergence watched(factor);
  Alerts alerts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!watched.add(values[i])) continue;
    if (alerts.count++ == 0) alerts.first = static_cast<int>(i);
  }
  return alerts;
}

TEST(Divergence, ATrainingThatConvergesIsNone) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0.0, 0.1);
    std::vector<double> values;
    for (int step = 0; step < 3000; ++step)
      values.push_back((1.0 + 4.5 * std::exp(-step / 400.0)) * std::exp(noise(random)));
    EXPECT_EQ(alerts_of(values).count, 0) << seed;
  }
}

TEST(Divergence, ALossThatJumpsAlertsOnceAfterFiveValues) {
  std::vector<double> values(100, 1.2);
  for (int i = 0; i < 60; ++i) values.push_back(5.0 + i);
  const Alerts alerts = alerts_of(values);
  EXPECT_EQ(alerts.count, 1);
  EXPECT_EQ(alerts.first, 104);
}

TEST(Divergence, ALossThatGrowsSlowPathAboveItsBeginAlerts) {
  std::vector<double> values;
  for (int step = 0; step < 200; ++step) values.push_back(5.0 * std::pow(1.02, step));
  EXPECT_EQ(alerts_of(values).count, 1);
}

TEST(Divergence, FourHighValuesAreASpike) {
  std::vector<double> values(100, 1.0);
  for (int i = 0; i < 10; ++i) {
    values.insert(values.end(), 4, 50.0);
    values.insert(values.end(), 10, 1.0);
  }
  EXPECT_EQ(alerts_of(values).count, 0);
}

TEST(Divergence, AfterItCameBackItMayAlertAgain) {
  std::vector<double> values(100, 1.0);
  for (int i = 0; i < 2; ++i) {
    values.insert(values.end(), 20, 50.0);
    values.insert(values.end(), 20, 1.0);
  }
  EXPECT_EQ(alerts_of(values).count, 2);
}

TEST(Divergence, WhatIsNotFiniteOrNotPositiveIsNotJudged) {
  std::vector<double> values(30, 1.0);
  values.insert(values.end(), 10, std::numeric_limits<double>::quiet_NaN());
  values.insert(values.end(), 10, std::numeric_limits<double>::infinity());
  EXPECT_EQ(alerts_of(values).count, 0);
  std::vector<double> negative(50, -3.0);
  negative.insert(negative.end(), 10, 4.0);
  EXPECT_EQ(alerts_of(negative).count, 0);
}

TEST(Divergence, IsWatchedInLossesAndGradientNorms) {
  EXPECT_EQ(Divergence::factor_of("loss"), 1.5);
  EXPECT_EQ(Divergence::factor_of("validation/LM Loss"), 1.5);
  EXPECT_EQ(Divergence::factor_of("gradient_norm"), 10.0);
  EXPECT_EQ(Divergence::factor_of("grad norm"), 10.0);
  EXPECT_FALSE(Divergence::factor_of("loss_scale").has_value());
  EXPECT_FALSE(Divergence::factor_of("tokens_per_s").has_value());
}

}  // namespace
}  // namespace megascope::live
