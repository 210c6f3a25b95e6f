#include "core/base/first_line.h"

#include <fstream>

namespace megascope {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace megascope
