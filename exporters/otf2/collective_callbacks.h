#pragma once

#include "core/lifecycle/collective.h"

#include <otf2/otf2.h>

namespace megascope::otf2 {

/// OTF2's collective operations over ours. Pass `context(collective)` as the global context and as
/// user data anything.
const OTF2_CollectiveCallbacks& collective_callbacks();

inline OTF2_CollectiveContext* context(Collective& collective) {
  return reinterpret_cast<OTF2_CollectiveContext*>(&collective);
}

}  // namespace megascope::otf2
