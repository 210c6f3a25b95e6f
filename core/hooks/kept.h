#pragma once

namespace megascope::hooks {

/// Sets the result of is_kept(). Returns false if it was that already.
bool set_kept(bool is_kept) noexcept;
/// Calls the function of set_window_follower().
void report_follower(bool is_kept) noexcept;

}  // namespace megascope::hooks
