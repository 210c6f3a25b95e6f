#pragma once

#include "analysis/detect/detect.h"

#include <vector>

namespace megascope::answer {

/// Resolves root causes that claim the same lost time. Two root causes do so if all of these hold:
/// - Both are slow work, or both are pauses (a rank does not compute). Slow links concern transfers
/// and are never removed.
/// - The ranks of one contain the ranks of the other.
/// - Their steps overlap.
/// Of two such root causes, only the more expensive one stays; if both name the same ranks, it gets
/// the steps of both. Exception: one is part of a group that the other reports as slow, and the
/// part was compared only with the rest of this group. Then both stay, and RootCause::within of the
/// part names the group. The result is sorted by cost, descending. Call after detect(), which sets
/// the costs. If the caller removes root causes later, it must call drop_absent_wholes().
void make_one_claim_each(std::vector<detect::RootCause>& root_causes);
/// Clears RootCause::within of each root cause if no root cause reports the group that it names.
void drop_absent_wholes(std::vector<detect::RootCause>& root_causes);

}  // namespace megascope::answer
