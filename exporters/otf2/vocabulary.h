#pragma once

#include "core/record/definitions.h"
#include "core/record/file_fact.h"

#include <otf2/otf2.h>

#include <cstdint>

/// Converts MegaScope's enumerations to those of OTF2.
namespace megascope::otf2 {

/// Returns a barrier for kNone, because OTF2 readers show operations that move no data as barriers.
OTF2_CollectiveOp otf2_operation(CollectiveOp operation);
OTF2_RegionRole otf2_role(RegionRole role);
OTF2_Paradigm otf2_paradigm(Paradigm paradigm);

/// mode: FileMode flags.
OTF2_IoAccessMode otf2_access_mode(std::uint16_t mode);
OTF2_IoCreationFlag otf2_creation_flags(std::uint16_t mode);
OTF2_IoStatusFlag otf2_status_flags(std::uint16_t mode);
OTF2_IoSeekOption otf2_seek_option(SeekFrom from);

/// Returns the root of a collective as OTF2's CollectiveRoot. root: a rank in the communicator,
/// kNoPeer, kSelfRoot or kProcNullRoot.
std::uint32_t otf2_root(std::int32_t root);

}  // namespace megascope::otf2
