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

/// Limit of different messages. Further messages of a domain are replaced by one message with the
/// text kOtherText.
inline constexpr std::uint32_t kMaxMessages = 60'000;
inline constexpr std::string_view kOtherText = "(further messages)";
inline constexpr std::string_view kNoText = "(no message)";

/// A message as the application passed it, as a C string.
struct ReportedText {
  DomainId domain = kDefaultDomain;
  std::uint32_t category = 0;
  const char* text = nullptr;  ///< may be null: kNoText
};

/// Returns the message with this key, and creates it if it is new. An empty text is replaced by
/// kNoText. Known messages are found without a lock. Returns nullptr if memory runs out or in a
/// forked child.
const Message* message(const MessageKey& key) noexcept;
/// As above, but faster if the address of the text is known from an earlier call. The text itself
/// is compared, because the application may have changed it.
const Message* message(const ReportedText& said) noexcept;
/// Returns the message of an NVTX handle; nullptr if there is none.
const Message* message_of_number(std::uint64_t number) noexcept;

/// Returns the domain of a region that message() defined; kMaxDomains for other regions.
DomainId domain_of(RegionId region) noexcept;

}  // namespace megascope::nvtx
