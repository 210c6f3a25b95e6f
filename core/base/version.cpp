#include "core/base/version.h"

namespace megascope {

const char* const kVersion = MEGASCOPE_VERSION_TEXT;

}  // namespace megascope
