#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace megascope::test {

/// "--name value" of those that have a default, and flags without a value.
class FeedArguments {
 public:
  explicit FeedArguments(std::map<std::string_view, std::string> defaults,
                         std::map<std::string_view, bool> flags)
      : values_(std::move(defaults)), flags_(std::move(flags)) {}

  /// False: one is unknown, or lacks its value.
  bool read(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (const auto flag = flags_.find(argv[i]); flag != flags_.end()) {
        flag->second = true;
        continue;
      }
      const auto found = values_.find(argv[i]);
      if (found == values_.end() || i + 1 == argc) return false;
      found->second = argv[++i];
    }
    return true;
  }
  const std::string& text(std::string_view name) const { return values_.at(name); }
  std::int64_t number(std::string_view name) const {
    return std::strtoll(values_.at(name).c_str(), nullptr, 10);
  }
  double real(std::string_view name) const {
    return std::strtod(values_.at(name).c_str(), nullptr);
  }
  bool is_on(std::string_view flag) const { return flags_.at(flag); }

 private:
  std::map<std::string_view, std::string> values_;
  std::map<std::string_view, bool> flags_;
};

}  // namespace megascope::test
