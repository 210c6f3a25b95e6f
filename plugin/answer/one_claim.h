#pragma once

#include "analysis/detect/detect.h"

#include <vector>

namespace megascope::answer {

/// Removes root causes that claim the same lost time. Two root causes do so if both are slow work
/// or both are pauses (a rank does not compute), the ranks of one contain those of the other, and
/// their steps overlap. Slow links concern transfers and stay. The result is sorted by cost,
/// descending. Call after detect(), which sets the costs; call drop_absent_wholes() after later
/// removals. Of two such root causes:
/// - If one of them is a part of a group that is slow as a whole, and was compared only with the
/// rest of the group, both stay, and RootCause::within of the part names the group.
/// - Otherwise only the more expensive one stays. If both name the same ranks, it gets the steps of
/// both.
void make_one_claim_each(std::vector<detect::RootCause>& root_causes);
/// Clears RootCause::within of each root cause whose group is no longer reported.
void drop_absent_wholes(std::vector<detect::RootCause>& root_causes);

}  // namespace megascope::answer
