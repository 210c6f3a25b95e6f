#pragma once

#include <cstdint>
#include <nvtx3/nvToolsExt.h>
#include <string_view>

/// What a program annotates, as hooks (core/hooks): any thread, any time, never throws. Where
/// nothing is recorded, it is a load and a branch.
namespace megascope::nvtx {

/// What an event is, read from what the program passed: only what its `size` says is there. text:
/// valid as long as the program's.
struct Event {
  std::uint64_t registered = 0;  ///< a message's number; 0: text counts
  const char* text = nullptr;    ///< ends with a zero
  const wchar_t* wide = nullptr;
  const nvtxEventAttributes_t* attributes = nullptr;  ///< nullptr: none
};
Event event_of(const nvtxEventAttributes_t* attributes) noexcept;
inline Event event_of(const char* text) noexcept { return {.text = text}; }
inline Event event_of(const wchar_t* text) noexcept { return {.wide = text}; }

// From: what event_of() takes. It is read only where something is recorded: what is wrong with
// others is nobody's loss.

/// The level of the range in its domain, from 0 on; NVTX_NO_PUSH_POP_TRACKING: it is not recorded.
template <class From>
int push(std::uint64_t domain, From from) noexcept;
/// The level of the range that ends; −1: there is none, which is counted; NVTX_NO_PUSH_POP_TRACKING
/// as in push().
int pop(std::uint64_t domain) noexcept;
/// 0: it is not recorded.
template <class From>
nvtxRangeId_t start(std::uint64_t domain, From from) noexcept;
void end(nvtxRangeId_t range) noexcept;
template <class From>
void mark(std::uint64_t domain, From from) noexcept;
/// The handle of the message. 0: there is none.
std::uint64_t register_text(std::uint64_t domain, std::string_view text) noexcept;

}  // namespace megascope::nvtx
