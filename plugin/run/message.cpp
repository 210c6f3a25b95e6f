#include "plugin/run/message.h"

#include "core/base/standard_error.h"
#include "core/base/text_table.h"

namespace megascope::run {

void say(const std::string& line) {
  standard_error::write("megascope: " + printable(line, line.size()) + "\n");
}

}  // namespace megascope::run
