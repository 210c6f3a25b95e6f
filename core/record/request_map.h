#pragma once

#include "core/base/id_map.h"
#include "core/record/ids.h"

namespace megascope {

/// Values of requests in flight.
template <class Value>
using RequestMap = IdMap<RequestId, Value>;

}  // namespace megascope
