#pragma once

#include "mpi_layer/call_record.h"
#include "mpi_layer/thread.h"

#include <cstdint>

/// Where calls are made from, when MEGASCOPE_CALLSITE asks for it: the return address of the
/// wrapper, as a number that a CallSiteDefinition explains. Not for calls made by MPI itself.
namespace megascope::mpi {

/// Written before recording begins.
extern constinit bool g_wants_call_sites;

inline constexpr std::uint32_t kNoCallSite = 0xFFFFFFFF;
/// The number of a place; defines it at first sight. kNoCallSite: memory ran out. Any thread.
std::uint32_t call_site_slowly(MpiThread& thread, std::uintptr_t return_address) noexcept;

/// Adds the place to the call being recorded: some ns when the thread has been there.
[[gnu::always_inline]] inline void stage_call_site(MpiThread& thread,
                                                   const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  const MpiThread::SiteSlot& slot = thread.sites[(address ^ address >> 6) % MpiThread::kSiteSlots];
  const std::uint32_t id = slot.address == address ? slot.id : call_site_slowly(thread, address);
  if (id != kNoCallSite) stage(thread, {.kind = FactKind::kCallSite, .request = id + 1});
}

}  // namespace megascope::mpi
