#pragma once

namespace megascope {

/// "0.1.0": of this library or command. One text in the binary, so that a test can make another
/// version of it.
extern const char* const kVersion;

}  // namespace megascope
