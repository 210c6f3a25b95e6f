#pragma once

namespace megascope::hooks {

/// What is_kept() says from now on. False: it said so before.
bool set_kept(bool is_kept) noexcept;
/// Tells whoever records beside hooks (set_window_follower).
void tell_follower(bool is_kept) noexcept;

}  // namespace megascope::hooks
