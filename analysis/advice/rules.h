#pragma once

#include "analysis/advice/finding.h"

#include <vector>

/// The rules. Each has its own file in rules/. A rule is a pure function that appends its findings
/// to `found`; it appends nothing if its problem does not occur. Only advise() calls the rules.
/// docs/advice.md has signatures, thresholds and sources.
namespace megascope::advice {

using Findings = std::vector<Finding>;

void find_small_messages(const Facts& facts, Findings& found);
void find_gather_bcast(const Facts& facts, Findings& found);
void find_bcast_runs(const Facts& facts, Findings& found);
void find_barriers(const Facts& facts, Findings& found);
void find_tiny_collectives(const Facts& facts, Findings& found);
void find_all_to_all(const Facts& facts, Findings& found);
void find_polling(const Facts& facts, Findings& found);
void find_serial_files(const Facts& facts, Findings& found);
void find_unexpected_messages(const Facts& facts, Findings& found);
void find_late_sender(const Facts& facts, Findings& found);
void find_sequential_ring(const Facts& facts, Findings& found);
void find_rank_imbalance(const Facts& facts, Findings& found);

}  // namespace megascope::advice
