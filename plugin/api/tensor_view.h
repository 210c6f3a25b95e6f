#pragma once

#include "plugin/api/megascope/megascope.h"

namespace megascope::api {

/// Checks a tensor that the application passed and hands it to core/hooks. An invalid view is
/// ignored and counted as refused (hooks::refuse). view: may be null; read during the call only.
/// Any thread, any phase.
void show(const megascope_tensor_view* view) noexcept;

}  // namespace megascope::api
