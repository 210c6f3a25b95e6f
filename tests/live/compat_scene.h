#pragma once

#include "plugin/live/compat/hub.h"
#include "shown_tensor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace megascope::live {

using nlohmann::json;
using test::ShownTensor;

inline constexpr std::int64_t kSecond = 1'000'000'000;

/// A run of one rank, and a client of the compatibility endpoint.
struct Scene {
  Hub hub{settings()};
  CompatHub compat{hub};
  ProtocolEndpoint::ClientId client = compat.connect(0).value();
  std::vector<capture::CaptureRequest> capture_requests;
  std::int64_t now_ns = kSecond;
  std::int64_t steps = 0;

  static LiveSettings settings() {
    LiveSettings settings;
    settings.is_control_allowed = true;
    return settings;
  }
  void say(const json& message) { ASSERT_TRUE(compat.receive(client, message.dump(), now_ns)); }
  void show(ShownTensor tensor, int times = 4) {
    for (int i = 0; i < times; ++i) {
      std::vector<std::byte> news;
      if (hub.take_changed_capture_requests(news))
        capture_requests = capture::unpack_capture_requests(news);
      tensor.step = steps++;
      hub.take_rank_update(0, test::rank_update_of(tensor, capture_requests), now_ns);
    }
  }
  void answer(const json& answer) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Reply{answer.dump()});
    hub.take_rank_update(0, rank_update.take(), now_ns);
  }
  std::vector<json> texts() {
    std::vector<json> all;
    Outgoing message;
    while (compat.next(client, now_ns, message)) all.push_back(json::parse(message.text));
    return all;
  }
};

inline std::vector<json> of_type(const std::vector<json>& texts, const std::string& type) {
  std::vector<json> found;
  std::copy_if(texts.begin(), texts.end(), std::back_inserter(found),
               [&](const json& text) { return text["type"] == type; });
  return found;
}

}  // namespace megascope::live
