#pragma once

#include "core/lifecycle/collective.h"

#include <otf2/otf2.h>

namespace megascope::otf2 {

/// OTF2's collective callbacks, implemented with Collective. Pass `context(collective)` as the
/// global context; user data is ignored.
const OTF2_CollectiveCallbacks& collective_callbacks();

inline OTF2_CollectiveContext* context(Collective& collective) {
  return reinterpret_cast<OTF2_CollectiveContext*>(&collective);
}

}  // namespace megascope::otf2
