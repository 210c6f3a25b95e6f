#pragma once

#include <string>

namespace megascope::mpitest {

/// Packs the words of each chunk of a run's traces and unpacks them again. Fails the test if they
/// are not the same words.
void expect_same_when_packed(const std::string& directory);

}  // namespace megascope::mpitest
