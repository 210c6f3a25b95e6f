#pragma once

namespace megascope {

/// Version of this library or command, "0.1.0". The text occurs once in the binary, so that a test
/// can patch it.
extern const char* const kVersion;

}  // namespace megascope
