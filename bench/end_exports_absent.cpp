#include "bench/end_exports.h"

namespace megascope::bench {

Status exchange_of_export(Collective&, const ProcessDefinitions&) {
  return Status::error("this build has no OTF2");
}

}  // namespace megascope::bench
