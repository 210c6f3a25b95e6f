#pragma once

#include "frame_view.h"
#include "plugin/live/hub/hub.h"
#include "synthetic_run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace megascope::test {

/// A hub with a synthetic run of 4 ranks and two layers, and one client.
struct HubScene {
  SyntheticRun run{{.ranks = 4, .layers = 2, .tokens = 8, .width = 100}};
  live::Hub hub{settings()};
  live::Hub::ClientId client = hub.connect(0).value();
  std::vector<capture::CaptureRequest> capture_requests;
  std::int64_t now_ns = 1'000'000'000;
  std::array<std::int64_t, 4> named_at{};  ///< the step in which each rank tells names

  static LiveSettings settings() {
    LiveSettings settings;
    settings.world_size = 4;
    return settings;
  }
  void say(const nlohmann::json& message) {
    ASSERT_TRUE(hub.receive(client, message.dump(), now_ns));
  }
  void step(std::int64_t step) {
    std::vector<std::byte> news;
    if (hub.take_changed_capture_requests(news))
      capture_requests = capture::unpack_capture_requests(news);
    for (std::int32_t rank = 0; rank < 4; ++rank)
      hub.take_rank_update(rank,
                           run.rank_update(rank, step, now_ns, capture_requests,
                                           step == named_at[static_cast<std::size_t>(rank)]),
                           now_ns);
    hub.take_block(run.block(step, now_ns, capture_requests));
  }
  std::vector<nlohmann::json> texts() {
    std::vector<nlohmann::json> all;
    live::Outgoing message;
    while (hub.next(client, now_ns, message)) {
      if (message.is_text) all.push_back(nlohmann::json::parse(message.text));
    }
    return all;
  }
  std::optional<FrameView> frame() {
    live::Outgoing message;
    while (hub.next(client, now_ns, message)) {
      if (!message.is_text) return FrameView(message.frame);
    }
    return std::nullopt;
  }
};

}  // namespace megascope::test
