#include "plugin/nvtx/annotations.h"

#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "plugin/nvtx/messages.h"
#include "plugin/nvtx/wide_text.h"

#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace megascope::nvtx {
namespace {

constexpr int kNotRecorded = NVTX_NO_PUSH_POP_TRACKING;
constexpr int kNoRange = -1;

RegionId region_of(const Message* found) noexcept {
  return found != nullptr ? found->region : kNoRegion;
}

RegionId region_of_wide(DomainId domain, std::uint32_t category, const wchar_t* text) noexcept {
  const WideText utf8(text);
  return region_of(message(MessageKey{domain, category, utf8.view()}));
}

/// Returns the region of a registered string, which belongs to the domain it was registered in.
RegionId region_of_registered(std::uint64_t number, DomainId domain,
                              std::uint32_t category) noexcept {
  const Message* registered = message_of_number(number);
  if (registered == nullptr) [[unlikely]] {
    hooks::refuse(LossCause::kRefused, "an NVTX string handle was used that is not registered");
    return region_of(message(MessageKey{domain, category, {}}));
  }
  if (category == registered->key.category) [[likely]]
    return registered->region;
  return region_of(message(MessageKey{registered->key.domain, category, registered->key.text}));
}

RegionId region_of(std::uint64_t handle, const Event& event) noexcept {
  const DomainId domain = known_domain(handle);
  const std::uint32_t category = event.attributes != nullptr ? event.attributes->category : 0;
  if (event.registered != 0) return region_of_registered(event.registered, domain, category);
  if (event.wide != nullptr) return region_of_wide(domain, category, event.wide);
  return region_of(message(ReportedText{domain, category, event.text}));
}

/// Numbers attached to an event.
struct Numbers {
  std::array<hooks::Number, 3> all;
  std::size_t count = 0;

  explicit Numbers(const nvtxEventAttributes_t& attributes) noexcept {
    add_payload(attributes);
    if (attributes.category != 0) add(ValueName::kCategory, attributes.category);
    if (attributes.colorType == NVTX_COLOR_ARGB) add(ValueName::kArgb, attributes.color);
  }

 private:
  void add(ValueName name, std::int64_t value) noexcept { all[count++] = {name, value}; }
  void add_real(double value) noexcept {
    add(ValueName::kRealPayload, std::bit_cast<std::int64_t>(value));
  }
  void add_payload(const nvtxEventAttributes_t& attributes) noexcept {
    const auto& payload = attributes.payload;
    switch (attributes.payloadType) {
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        if (payload.ullValue <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
          return add(ValueName::kPayload, payload.llValue);
        return add_real(static_cast<double>(payload.ullValue));
      case NVTX_PAYLOAD_TYPE_INT64:
        return add(ValueName::kPayload, payload.llValue);
      case NVTX_PAYLOAD_TYPE_DOUBLE:
        return add_real(payload.dValue);
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        return add(ValueName::kPayload, payload.uiValue);
      case NVTX_PAYLOAD_TYPE_INT32:
        return add(ValueName::kPayload, payload.iValue);
      case NVTX_PAYLOAD_TYPE_FLOAT:
        return add_real(static_cast<double>(payload.fValue));
      default:
        return;
    }
  }
};

/// Returns the number of open ranges of the domain on this thread.
int level_in(const hooks::HookThread& thread, DomainId domain) noexcept {
  int level = static_cast<int>(thread.beyond);
  for (std::uint32_t i = 0; i < thread.depth; ++i)
    level += domain_of(thread.open[i]) == domain ? 1 : 0;
  return level;
}

}  // namespace

Event event_of(const nvtxEventAttributes_t* attributes) noexcept {
  constexpr std::size_t kNeededBytes = offsetof(nvtxEventAttributes_t, message) +
                                       sizeof(nvtxMessageValue_t);
  if (attributes == nullptr || attributes->size < kNeededBytes) {
    hooks::refuse(LossCause::kRefused,
                  "attributes of an NVTX event are missing, or their size is not set");
    return {};
  }
  Event event{.attributes = attributes};
  if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) event.text = attributes->message.ascii;
  if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE)
    event.wide = attributes->message.unicode;
  if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
    event.registered = reinterpret_cast<std::uintptr_t>(attributes->message.registered);
  return event;
}

template <class From>
int push(std::uint64_t domain, From from) noexcept {
  hooks::HookThread* const thread = hooks::thread_for(hooks::kRegions);
  if (thread == nullptr) return kNotRecorded;
  const Event event = event_of(from);
  const RegionId region = region_of(domain, event);
  if (region == kNoRegion) return kNoRange;
  if (event.attributes != nullptr && (hooks::gate_of(*thread) & hooks::kDetails) != 0) {
    const Numbers numbers(*event.attributes);
    hooks::enter(region, std::span(numbers.all).first(numbers.count));
  } else {
    hooks::enter(region);
  }
  return level_in(*thread, domain_of(region)) - 1;
}

int pop(std::uint64_t handle) noexcept {
  hooks::HookThread* const thread = hooks::thread_for(hooks::kRegions);
  if (thread == nullptr) return kNotRecorded;
  const DomainId domain = known_domain(handle);
  const int level = level_in(*thread, domain) - 1;
  if (thread->beyond != 0) {
    --thread->beyond;
    return level;
  }
  for (std::uint32_t i = thread->depth; i-- > 0;) {
    if (domain_of(thread->open[i]) != domain) continue;
    if (i + 1 == thread->depth)
      hooks::leave(thread->open[i]);
    else
      hooks::leave_at(*thread, i);
    return level;
  }
  hooks::refuse(LossCause::kUnbalanced,
                "an NVTX range was popped, but none is open in its domain on this thread");
  return kNoRange;
}

template <class From>
nvtxRangeId_t start(std::uint64_t domain, From from) noexcept {
  if (hooks::thread_for(hooks::kRegions) == nullptr) return 0;
  return hooks::start_range(region_of(domain, event_of(from)));
}

void end(nvtxRangeId_t range) noexcept { hooks::stop_range(range); }

template <class From>
void mark(std::uint64_t domain, From from) noexcept {
  if (hooks::thread_for(hooks::kRegions) != nullptr) hooks::mark(region_of(domain, event_of(from)));
}

#define MEGASCOPE_NVTX_FROM(From)                                   \
  template int push<From>(std::uint64_t, From) noexcept;            \
  template nvtxRangeId_t start<From>(std::uint64_t, From) noexcept; \
  template void mark<From>(std::uint64_t, From) noexcept;
MEGASCOPE_NVTX_FROM(const nvtxEventAttributes_t*)
MEGASCOPE_NVTX_FROM(const char*)
MEGASCOPE_NVTX_FROM(const wchar_t*)
#undef MEGASCOPE_NVTX_FROM

std::uint64_t register_text(std::uint64_t domain, std::string_view text) noexcept {
  const Message* const registered = message(
      MessageKey{known_domain(domain), 0, text.substr(0, kMaxMessageBytes)});
  return registered != nullptr ? registered->number : 0;
}

}  // namespace megascope::nvtx
