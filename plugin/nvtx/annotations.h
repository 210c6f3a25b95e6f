#pragma once

#include <cstdint>
#include <nvtx3/nvToolsExt.h>
#include <string_view>

/// NVTX annotations as hooks (core/hooks). Any thread, any time; nothing throws. One load and one
/// branch if nothing is recorded.
namespace megascope::nvtx {

/// An NVTX event, read from the application's attributes as far as their `size` says they exist.
/// text: valid as long as the application's.
struct Event {
  std::uint64_t registered = 0;  ///< handle of a registered string; 0: `text` is used
  const char* text = nullptr;    ///< zero-terminated
  const wchar_t* wide = nullptr;
  const nvtxEventAttributes_t* attributes = nullptr;  ///< null: none
};
Event event_of(const nvtxEventAttributes_t* attributes) noexcept;
inline Event event_of(const char* text) noexcept { return {.text = text}; }
inline Event event_of(const wchar_t* text) noexcept { return {.wide = text}; }

// From: an argument of event_of(). It is read only if something is recorded, so that invalid
// attributes are not counted otherwise.

/// Returns the nesting level of the new range in its domain, from 0; NVTX_NO_PUSH_POP_TRACKING if
/// it is not recorded.
template <class From>
int push(std::uint64_t domain, From from) noexcept;
/// Returns the nesting level of the range that ends; -1 if there is none (counted as unbalanced);
/// NVTX_NO_PUSH_POP_TRACKING as push().
int pop(std::uint64_t domain) noexcept;
/// Returns the number of the range; 0 if it is not recorded.
template <class From>
nvtxRangeId_t start(std::uint64_t domain, From from) noexcept;
void end(nvtxRangeId_t range) noexcept;
template <class From>
void mark(std::uint64_t domain, From from) noexcept;
/// Returns the handle of a registered string; 0 if there is none.
std::uint64_t register_text(std::uint64_t domain, std::string_view text) noexcept;

}  // namespace megascope::nvtx
