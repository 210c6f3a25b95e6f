#include "plugin/nvtx/messages.h"

#include "core/base/hash.h"
#include "core/hooks/hooks.h"
#include "core/hooks/name_table.h"
#include "core/hooks/refusals.h"
#include "plugin/nvtx/wide_text.h"

#include <atomic>
#include <cstring>
#include <new>
#include <string.h>
#include <string>

namespace megascope::nvtx {
namespace {

constexpr std::size_t kPlaces = 1U << 17;  ///< size of a table that is at most half full
static_assert(kMaxMessages <= kPlaces / 2);
constexpr int kMaxAlike = 8;
constexpr std::size_t kRecent = 1U << 12;

// Pages are allocated at first use.
constinit std::atomic<const Message*> g_table[kPlaces];
constinit std::atomic<const Message*> g_by_number[kMaxMessages + 1];
constinit std::atomic<const Message*>
    g_recent[kRecent];  ///< by the address of the application's text
constinit std::atomic<DomainId>
    g_domain_after[kFirstReservedRegion];  ///< by region: 1 + its domain; 0: not a message
std::uint32_t g_count = 0;
hooks::ProcessLock g_lock;  ///< guards insertions

template <class Word>
std::uint64_t word_at(const char* bytes) noexcept {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Reads up to eight bytes as a number; bytes may be read twice.
std::uint64_t short_word(const char* bytes, std::size_t size) noexcept {
  if (size >= 4)
    return word_at<std::uint32_t>(bytes) | word_at<std::uint32_t>(bytes + size - 4) << 32;
  if (size == 0) return 0;
  return word_at<std::uint8_t>(bytes) | word_at<std::uint8_t>(bytes + size / 2) << 8 |
         word_at<std::uint8_t>(bytes + size - 1) << 16;
}

/// Hash of a key; the contents are compared as well.
std::uint64_t hash_of(const MessageKey& key) noexcept {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::uint64_t hash = (key.text.size() ^ std::uint64_t{key.domain} << 48 ^
                        std::uint64_t{key.category} << 16) *
                       kFactor;
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  const char* at = key.text.data();
  const std::size_t size = key.text.size();
  if (size < kBytes) return mix(hash ^ short_word(at, size));
  for (const char* const last = at + size - kBytes; at < last; at += kBytes) {
    hash = (hash ^ word_at<std::uint64_t>(at)) * kFactor;
    hash ^= hash >> 29;
  }
  return mix(hash ^ word_at<std::uint64_t>(key.text.data() + size - kBytes));
}

bool is(const Message& message, const MessageKey& key, std::uint64_t hash) noexcept {
  return message.hash == hash && message.key.domain == key.domain &&
         message.key.category == key.category && message.key.text == key.text;
}

/// Returns the message; or nullptr, with the free entry in `place`.
const Message* find(const MessageKey& key, std::uint64_t hash, std::size_t& place) noexcept {
  for (place = hash % kPlaces;; place = (place + 1) % kPlaces) {
    const Message* known = g_table[place].load(std::memory_order_acquire);
    if (known == nullptr || is(*known, key, hash)) return known;
  }
}

/// Returns the region of a message. "a:b" may be message "b" of domain "a", or "a:b" of the default
/// domain; such regions differ by their group.
RegionId region_for(const MessageKey& key) {
  const std::string name = full_name(key.domain, key.text);
  std::string group = category_name(key.domain, key.category);
  for (int i = 0; i < kMaxAlike; ++i, group = "'" + group) {
    const RegionId region = hooks::region(name, group);
    if (region == kNoRegion) return kNoRegion;
    const DomainId known = domain_of(region);
    if (known == key.domain || known == kMaxDomains) return region;
  }
  return kNoRegion;
}

/// Adds a message. Call with the lock held.
const Message* add(const MessageKey& key, std::uint64_t hash, std::size_t place) {
  const RegionId region = region_for(key);
  if (region == kNoRegion) return nullptr;
  auto* text = new char[key.text.size() + 1];
  text[key.text.copy(text, key.text.size())] = '\0';
  const auto* made = new Message{
      {key.domain, key.category, {text, key.text.size()}}, hash, ++g_count, region};
  g_domain_after[region].store(static_cast<DomainId>(key.domain + 1), std::memory_order_relaxed);
  g_by_number[made->number].store(made, std::memory_order_release);
  g_table[place].store(made, std::memory_order_release);
  return made;
}

const Message* find_or_add(const MessageKey& key) noexcept {
  const std::uint64_t hash = hash_of(key);
  std::size_t place = 0;
  if (const Message* known = find(key, hash, place)) [[likely]]
    return known;
  const hooks::ProcessGuard locked(g_lock);
  if (!locked) return nullptr;
  const Message* found = find(key, hash, place);
  const bool has_space = g_count < kMaxMessages - kMaxDomains ||
                         (key.text == kOtherText && g_count < kMaxMessages);
  try {
    if (found == nullptr && has_space) found = add(key, hash, place);
  } catch (const std::bad_alloc&) {
    found = nullptr;
  }
  return found;
}

}  // namespace

const Message* message(const MessageKey& key) noexcept {
  const MessageKey wanted{key.domain, key.category, key.text.empty() ? kNoText : key.text};
  if (const Message* found = find_or_add(wanted)) [[likely]]
    return found;
  if (hooks::is_forked_child())
    return nullptr;  // must not wait for the lock, and is not recorded anyway
  hooks::refuse(
      LossCause::kRefused,
      "there are too many different NVTX messages: further ones are recorded as \"(further "
      "messages)\"");
  return find_or_add({key.domain, 0, kOtherText});
}

const Message* message(const ReportedText& said) noexcept {
  if (said.text == nullptr) return message(MessageKey{said.domain, said.category, {}});
  std::atomic<const Message*>&
      recent = g_recent[(reinterpret_cast<std::uintptr_t>(said.text) * 0x9E3779B97F4A7C15U >> 32) %
                        kRecent];
  const Message* known = recent.load(std::memory_order_acquire);
  const bool is_it = known != nullptr && known->key.domain == said.domain &&
                     known->key.category == said.category &&
                     strcmp(known->key.text.data(), said.text) == 0;
  if (is_it) [[likely]]
    return known;
  const Message* const found = message(
      {said.domain, said.category, {said.text, strnlen(said.text, kMaxMessageBytes)}});
  if (found != nullptr) recent.store(found, std::memory_order_release);
  return found;
}

const Message* message_of_number(std::uint64_t number) noexcept {
  return number <= kMaxMessages ? g_by_number[number].load(std::memory_order_acquire) : nullptr;
}

DomainId domain_of(RegionId region) noexcept {
  const DomainId after = region < kFirstReservedRegion
                             ? g_domain_after[region].load(std::memory_order_relaxed)
                             : DomainId{0};
  return after == 0 ? static_cast<DomainId>(kMaxDomains) : static_cast<DomainId>(after - 1);
}

}  // namespace megascope::nvtx
