#pragma once

#include "plugin/api/megascope/megascope.h"

namespace megascope::api {

/// Hands a tensor on as the program describes it, if it can be one; else counts it as refused.
/// view: may be null.
void show(const megascope_tensor_view* view) noexcept;

}  // namespace megascope::api
