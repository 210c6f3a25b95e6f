#include "core/base/version.h"

namespace megascope {

const char* const kVersion = MEGASCOPE_VERSION;

}  // namespace megascope
