#pragma once

#include <cstdint>
#include <nvtx3/nvToolsExt.h>
#include <string_view>

/// NVTX annotations as hooks (core/hooks). Any thread, any time; nothing throws. One load and one
/// branch if nothing is recorded.
namespace megascope::nvtx {

/// An NVTX event. Of the application's attributes, only the members within their `size` are read.
/// The event refers to the application's texts and attributes and does not own them.
struct Event {
  std::uint64_t registered = 0;  ///< handle of a registered string; 0: `text` is used
  const char* text = nullptr;    ///< zero-terminated
  const wchar_t* wide = nullptr;
  const nvtxEventAttributes_t* attributes = nullptr;  ///< null: the event has none
};
Event event_of(const nvtxEventAttributes_t* attributes) noexcept;
inline Event event_of(const char* text) noexcept { return {.text = text}; }
inline Event event_of(const wchar_t* text) noexcept { return {.wide = text}; }

// From: a type that event_of() accepts. The functions read it only if something is recorded, so
// invalid attributes are counted only in this case.

/// Returns the nesting level of the new range in its domain, from 0; NVTX_NO_PUSH_POP_TRACKING if
/// it is not recorded.
template <class From>
int push(std::uint64_t domain, From from) noexcept;
/// Ends the innermost range of the domain on this thread and returns its nesting level. If there is
/// no such range, counts the call as unbalanced and returns -1. Returns NVTX_NO_PUSH_POP_TRACKING
/// if nothing is recorded.
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
