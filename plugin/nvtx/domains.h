#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace megascope::nvtx {

/// Number of a domain, which is its NVTX handle. 0 is the default domain.
using DomainId = std::uint16_t;
inline constexpr DomainId kDefaultDomain = 0;
inline constexpr std::size_t kMaxDomains = 4096;

/// Returns the number of the domain with this name. Defines the domain if the name is new. Returns
/// the default domain, and counts one refused annotation, if the name is empty, if there are
/// kMaxDomains domains, or if memory runs out. Only the first 200 bytes of the name count. Any
/// thread; takes a lock.
DomainId domain(std::string_view name) noexcept;
/// Returns the domain of an NVTX handle; the default domain if the handle was never returned.
DomainId known_domain(std::uint64_t number) noexcept;

/// Sets the name of a category in a domain. Takes a lock.
void name_category(DomainId domain, std::uint32_t category, std::string_view name) noexcept;

/// Returns "domain:message"; "message" for the default domain. Takes a lock; may throw
/// std::bad_alloc.
std::string full_name(DomainId domain, std::string_view message);
/// Returns the name of a category; "category 7" if it has none; "nvtx" for category 0. Takes a
/// lock; may throw std::bad_alloc.
std::string category_name(DomainId domain, std::uint32_t category);

}  // namespace megascope::nvtx
