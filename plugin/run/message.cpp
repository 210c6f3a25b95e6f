#include "plugin/run/message.h"

#include "core/base/standard_error.h"
#include "exporters/report/table.h"

namespace megascope::run {

void say(const std::string& line) {
  standard_error::write("megascope: " + report::printable(line, line.size()) + "\n");
}

}  // namespace megascope::run
