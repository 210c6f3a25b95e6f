#pragma once

#include "analysis/detect/detect.h"

#include <vector>

namespace megascope::answer {

/// Two causes of one kind (work, or time in which a rank does not compute) that name the same ranks
/// at the same time claim the same lost time. Where one of them is compared with the others of a
/// group that is slow as a whole, it says so (RootCause::within); else only the one that costs more
/// is left, with the steps of both where both name the same ranks. Links claim transfers, and stay.
void make_one_claim_each(std::vector<detect::RootCause>& root_causes);
/// Of those that are left: what is no longer reported is compared with by no rank.
void drop_absent_wholes(std::vector<detect::RootCause>& root_causes);

}  // namespace megascope::answer
