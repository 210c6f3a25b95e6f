#pragma once

#include "core/record/shared_cores.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace megascope::report {

/// Returns the sets of ranks that share cores as JSON: [{"host", "ranks", "cores", "processors",
/// "granted_processors", "text"}]. Used by the report and the analysis.
inline nlohmann::ordered_json shared_cores_json(const std::vector<SharedCores>& all) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SharedCores& shared : all) {
    rows.push_back(
        {{"host", shared.host},
         {"ranks", shared.ranks},
         {"cores", shared.cores},
         {"processors", shared.processors},
         {"granted_processors", shared.granted > 0 ? nlohmann::ordered_json(shared.granted)
                                                   : nlohmann::ordered_json(nullptr)},
         {"text", to_text(shared)}});
  }
  return rows;
}

}  // namespace megascope::report
