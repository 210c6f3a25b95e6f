#pragma once

#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/thread.h"

#include <cstdint>

/// Records call sites if MEGASCOPE_CALLSITE is on. The return address of the wrapper is stored as
/// the number of a CallSiteDefinition. Calls that MPI makes itself have no call site.
namespace megascope::mpi {

/// Whether call sites are recorded. Set before recording starts.
extern constinit bool g_wants_call_sites;

inline constexpr std::uint32_t kNoCallSite = 0xFFFFFFFF;
/// Returns the number of a call site and defines it at first use. kNoCallSite: memory ran out. Any
/// thread.
std::uint32_t call_site_slow_path(MpiThread& thread, std::uintptr_t return_address) noexcept;

/// Adds the call site to the call being recorded. A few ns if the thread has used the site before.
[[gnu::always_inline]] inline void stage_call_site(MpiThread& thread,
                                                   const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  const ThreadCaches::SiteSlot&
      slot = thread.caches.sites[(address ^ address >> 6) % ThreadCaches::kSiteSlots];
  const std::uint32_t id = slot.address == address ? slot.id : call_site_slow_path(thread, address);
  if (id != kNoCallSite) stage(thread, {.kind = FactKind::kCallSite, .request = id + 1});
}

}  // namespace megascope::mpi
