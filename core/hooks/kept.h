#pragma once

namespace megascope::hooks {

/// Sets the result of is_kept(). Returns false if is_kept() already returned this value.
bool set_kept(bool is_kept) noexcept;
/// Calls the function of set_window_follower().
void report_follower(bool is_kept) noexcept;

}  // namespace megascope::hooks
