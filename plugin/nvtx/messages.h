#pragma once

#include "core/record/ids.h"
#include "plugin/nvtx/domains.h"

#include <cstdint>
#include <string_view>

namespace megascope::nvtx {

/// Identifies the region of a message: domain, category and text.
struct MessageKey {
  DomainId domain = kDefaultDomain;
  std::uint32_t category = 0;
  std::string_view text;  ///< any bytes; at most kMaxMessageBytes
};

/// A message that the application has used. Never freed. Its text is zero-terminated.
struct Message {
  MessageKey key;
  std::uint64_t hash = 0;
  std::uint32_t number = 0;  ///< from 1; NVTX handle of a registered string
  RegionId region = kNoRegion;
};

/// Number of different messages; later ones share the message kOther.
inline constexpr std::uint32_t kMaxMessages = 60'000;
inline constexpr std::string_view kOtherText = "(further messages)";
inline constexpr std::string_view kNoText = "(no message)";

/// A message as the application passed it, as a C string.
struct ReportedText {
  DomainId domain = kDefaultDomain;
  std::uint32_t category = 0;
  const char* text = nullptr;  ///< may be null: kNoText
};

/// Returns the message, and creates it if it is new; kNoText for an empty text. Known ones are
/// found by content, without a lock. nullptr: memory ran out, or this is a forked child.
const Message* message(const MessageKey& key) noexcept;
/// As above, faster if the same address had the same text before; the text is compared.
const Message* message(const ReportedText& said) noexcept;
/// Returns the message of an NVTX handle; nullptr if there is none.
const Message* message_of_number(std::uint64_t number) noexcept;

/// Returns the domain of a region that message() defined; kMaxDomains for other regions.
DomainId domain_of(RegionId region) noexcept;

}  // namespace megascope::nvtx
