#pragma once

#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"

namespace megascope::bench {

/// What the ranks tell each other in an export to OTF2 of ours, with one event a rank; not what
/// libotf2 tells itself. An error where MegaScope was built without OTF2.
Status exchange_of_export(Collective& group, const ProcessDefinitions& process);

}  // namespace megascope::bench
