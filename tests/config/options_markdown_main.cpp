// options_markdown FILE writes the documentation of the options; --compare FILE tells whether it is
// up to date.

#include "core/config/options.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  const bool compares = argc == 3 && std::string(argv[1]) == "--compare";
  if (argc != 2 && !compares) {
    std::cerr << "usage: " << argv[0] << " [--compare] FILE\n";
    return 2;
  }
  const std::string path = argv[argc - 1];
  const std::string expected = megascope::config::options_markdown();
  if (!compares) {
    std::ofstream file(path);
    file << expected;
    return file.flush() ? 0 : 1;
  }
  std::ifstream file(path);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  if (found == expected) return 0;
  std::cerr << path << " is not what core/config/option_table.h gives. "
            << "Run: cmake --build --preset dev --target megascope_gen_docs\n";
  return 1;
}
