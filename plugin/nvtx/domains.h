#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace megascope::nvtx {

/// A domain's number: 0 is the default one. What NVTX calls its handle.
using DomainId = std::uint16_t;
inline constexpr DomainId kDefaultDomain = 0;
inline constexpr std::size_t kMostDomains = 4096;

/// The domain of this name, made where it is new. The default one where there are too many, or the
/// name is empty: that is counted. Any thread; takes a lock.
DomainId domain(std::string_view name) noexcept;
/// The domain of this number; the default one where it was never given.
DomainId known_domain(std::uint64_t number) noexcept;

/// What a category of a domain is called from now on. Takes a lock.
void name_category(DomainId domain, std::uint32_t category, std::string_view name) noexcept;

/// "domain:message"; of the default domain "message". Takes a lock; may throw std::bad_alloc.
std::string full_name(DomainId domain, std::string_view message);
/// The category's name; "category 7" if it has none; "nvtx" of category 0. As full_name().
std::string category_name(DomainId domain, std::uint32_t category);

}  // namespace megascope::nvtx
