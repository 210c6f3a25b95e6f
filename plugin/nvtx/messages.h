#pragma once

#include "core/record/ids.h"
#include "plugin/nvtx/domains.h"

#include <cstdint>
#include <string_view>

namespace megascope::nvtx {

/// What tells one region of another: who says it, how it is filed, what it says.
struct MessageKey {
  DomainId domain = kDefaultDomain;
  std::uint32_t category = 0;
  std::string_view text;  ///< any bytes; at most kMostMessageBytes
};

/// A message that was said. Never freed. A zero follows its text.
struct Message {
  MessageKey key;
  std::uint64_t hash = 0;
  std::uint32_t number = 0;  ///< from 1 on: what NVTX calls the handle of a registered string
  RegionId region = kNoRegion;
};

/// So many different ones are told apart; all that come later are one: kOther.
inline constexpr std::uint32_t kMostMessages = 60'000;
inline constexpr std::string_view kOtherText = "(further messages)";
inline constexpr std::string_view kNoText = "(no message)";

/// What a program says, as a C string.
struct SaidText {
  DomainId domain = kDefaultDomain;
  std::uint32_t category = 0;
  const char* text = nullptr;  ///< may be null: kNoText
};

/// The message, made where it is new; an empty text is kNoText. Known ones are found without a
/// lock, by their contents. nullptr: there is no memory, or this is a forked child.
const Message* message(const MessageKey& key) noexcept;
/// The same, sooner where it is what was said from this address before: that is compared with what
/// is there now.
const Message* message(const SaidText& said) noexcept;
/// The one of this number; nullptr: there is none.
const Message* message_of_number(std::uint64_t number) noexcept;

/// Of a region that message() made; else kMostDomains.
DomainId domain_of(RegionId region) noexcept;

}  // namespace megascope::nvtx
