#include "plugin/nvtx/domains.h"

#include "core/hooks/name_table.h"
#include "core/hooks/refusals.h"

#include <atomic>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace megascope::nvtx {
namespace {

constexpr std::size_t kMaxNameBytes = 200;
constexpr std::size_t kMaxCategories = 1U << 16;

std::atomic<std::uint32_t> g_count{1};

struct Names {
  hooks::ProcessLock lock;               ///< not held while memory of the application is read
  std::vector<std::string> domains{""};  ///< the default domain has no name
  std::map<std::pair<DomainId, std::uint32_t>, std::string> categories;
};
Names& names() {
  static auto* const all = new Names;
  return *all;
}

void refuse(const char* reason) { hooks::refuse(LossCause::kRefused, reason); }

}  // namespace

DomainId domain(std::string_view name) noexcept {
  if (name.empty()) {
    refuse("an NVTX domain has no name: the default domain is used");
    return kDefaultDomain;
  }
  try {
    const std::string wanted(name.substr(0, kMaxNameBytes));
    const hooks::ProcessGuard locked(names().lock);
    if (!locked) return kDefaultDomain;
    std::vector<std::string>& all = names().domains;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] == wanted) return static_cast<DomainId>(i);
    }
    if (all.size() < kMaxDomains) {
      all.push_back(wanted);
      g_count.store(static_cast<std::uint32_t>(all.size()), std::memory_order_release);
      return static_cast<DomainId>(all.size() - 1);
    }
  } catch (const std::bad_alloc&) {
  }
  refuse("there are too many NVTX domains: the default domain is used");
  return kDefaultDomain;
}

DomainId known_domain(std::uint64_t number) noexcept {
  return number < g_count.load(std::memory_order_acquire) ? static_cast<DomainId>(number)
                                                          : kDefaultDomain;
}

void name_category(DomainId domain, std::uint32_t category, std::string_view name) noexcept {
  try {
    std::string wanted(name.substr(0, kMaxNameBytes));
    const hooks::ProcessGuard locked(names().lock);
    if (!locked || wanted.empty()) return;
    if (names().categories.size() < kMaxCategories)
      names().categories[{domain, category}] = std::move(wanted);
  } catch (const std::bad_alloc&) {
    refuse("a name was not defined: memory is exhausted");
  }
}

std::string full_name(DomainId domain, std::string_view message) {
  std::string name;
  if (const hooks::ProcessGuard locked(names().lock); locked && domain != kDefaultDomain)
    name = names().domains[domain] + ":";
  return name.append(message);
}

std::string category_name(DomainId domain, std::uint32_t category) {
  if (const hooks::ProcessGuard locked(names().lock); locked) {
    const auto named = names().categories.find({domain, category});
    if (named != names().categories.end()) return named->second;
  }
  return category == 0 ? "nvtx" : "category " + std::to_string(category);
}

}  // namespace megascope::nvtx
