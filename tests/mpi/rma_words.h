#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <string>

namespace megascope::mpitest {

/// A one-sided fact that names a window, in words. request: " r1" or empty; window: " w1", with the
/// communicator where it is not the call's.
///
///   made w1 bytes 256                       put w1 target 1 sent 40 received 0
///   fence w1 #0 noprecede                   post w1 with 0 2 nocheck
///   lock w1 1 exclusive                     flush local w1 all
///   about w1                                rget r1 w1 target 0 sent 0 received 8
std::string rma_text(const Fact& fact, const ProcessDefinitions& process,
                     const std::string& request, const std::string& window);

}  // namespace megascope::mpitest
