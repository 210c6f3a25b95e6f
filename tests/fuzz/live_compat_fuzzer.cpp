#include "plugin/live/compat/hub.h"
#include "plugin/live/compat/requests.h"
#include "plugin/live/projection/npy_file.h"
#include "tests/live/shown_tensor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace megascope;

constexpr std::size_t kShapeBytes = 8;
constexpr std::uint64_t kMaxElements = 1 << 14;
constexpr std::array<std::string_view, 8> kNames{"qkv",  "scores",           "context", "mlp1",
                                                 "mlp2", "attention.output", "hidden",  "tokens"};

/// The first bytes: a tensor of any flag's name and of any few dimensions, also of none and of
/// extents of 0.
test::ShownTensor tensor_of(std::span<const std::uint8_t> bytes) {
  test::ShownTensor tensor{
      .name = kNames[bytes[0] % kNames.size()], .layer = bytes[0] / 64, .shape = {}};
  if (tensor.name == "tokens") tensor.kind = TensorKind::kInputTokens;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < bytes[1] % 7U; ++i) {
    const std::uint64_t extent = bytes[2 + i] < 192 ? bytes[2 + i] % 8
                                                    : std::uint64_t{1} << (bytes[2 + i] % 13);
    if (elements * extent > kMaxElements) break;
    if (extent != 0) elements *= extent;
    tensor.shape.push_back(extent);
  }
  return tensor;
}

void drain(live::CompatHub& compat, live::ProtocolEndpoint::ClientId client, std::int64_t now_ns) {
  live::Outgoing message;
  while (compat.next(client, now_ns, message)) {
  }
}

void show(live::Hub& hub, live::CompatHub& compat, live::ProtocolEndpoint::ClientId client,
          test::ShownTensor tensor) {
  std::vector<capture::CaptureRequest> capture_requests;
  for (tensor.step = 0; tensor.step < 4; ++tensor.step) {
    std::vector<std::byte> news;
    if (hub.take_changed_capture_requests(news))
      capture_requests = capture::unpack_capture_requests(news);
    hub.take_rank_update(0, test::rank_update_of(tensor, capture_requests), tensor.step + 1);
    drain(compat, client, tensor.step + 1);
    if (!tensor.shape.empty()) ++tensor.shape[tensor.shape.size() / 2];  // as of a text that grows
  }
  drain(compat, client, std::int64_t{1} << 40);
}

void answer(live::Hub& hub) {
  std::string request;
  if (!hub.request_queue().next(request, 1)) return;
  capture::RankUpdateWriter rank_update;
  rank_update.add(capture::Reply{R"({"id":1,"type":"start","prompts":[[{"id":1,"token":"x"}]]})"});
  rank_update.add(capture::Reply{R"({"id":1,"type":"token","sampled":[]})"});
  hub.take_rank_update(0, rank_update.take(), 1);
}

}  // namespace

/// A tensor of any shape, beside any message of a client of the compatibility endpoint, a client
/// that says it, and the same bytes as a .npy file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kShapeBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + kShapeBytes,
                              size - kShapeBytes);
  const live::CompatRequest request = live::read_compat_request(text);
  if (const auto* bad = std::get_if<live::CompatBad>(&request); bad != nullptr && bad->text.empty())
    __builtin_trap();
  if (const auto* generate = std::get_if<live::CompatGenerate>(&request);
      generate != nullptr && !generate->request.is_object())
    __builtin_trap();
  LiveSettings settings;
  settings.is_control_allowed = true;
  live::Hub hub(settings);
  live::CompatHub compat(hub);
  hub.request_queue().open();
  const auto client = compat.connect(0);
  compat.receive(*client, text, 1);
  answer(hub);
  show(hub, compat, *client, tensor_of({data, kShapeBytes}));
  live::NpyArray array;
  if (live::read_npy(std::as_bytes(std::span(text)), array).is_ok()) {
    if (array.values.size() != array.rows * array.columns) __builtin_trap();
    live::normalise_rows(array);
  }
  return 0;
}
