#pragma once

#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace megascope::importer {

/// One object of an array of events: its strings, numbers and lists of numbers, and the strings and numbers of its "args". What lies deeper is
/// passed over.
class JsonEvent {
 public:
  /// Empty where there is no such string.
  const std::string& text(std::string_view key) const { return find_text(texts_, key); }
  const std::string& argument_text(std::string_view key) const { return find_text(argument_texts_, key); }
  std::optional<double> number(std::string_view key) const { return find_number(numbers_, key); }
  std::optional<double> argument(std::string_view key) const { return find_number(argument_numbers_, key); }
  /// A list of numbers; null where there is none. What else is in it is passed over.
  const std::vector<double>* list(std::string_view key) const;
  /// A number, or a string by a hash of its own; 0 where there is none: what "pid" and "tid" may be.
  std::int64_t id(std::string_view key) const;
  bool has(std::string_view key) const { return numbers_.contains(key) || texts_.contains(key); }

 private:
  friend class EventHandler;
  using Texts = std::map<std::string, std::string, std::less<>>;
  using Numbers = std::map<std::string, double, std::less<>>;
  static const std::string& find_text(const Texts& in, std::string_view key);
  static std::optional<double> find_number(const Numbers& in, std::string_view key);
  void clear();

  Texts texts_;
  Texts argument_texts_;
  Numbers numbers_;
  Numbers argument_numbers_;
  std::map<std::string, std::vector<double>, std::less<>> lists_;
};

/// Reads the events of an array, or of the array `key` of an object, one at a time: memory does not grow with the file, however
/// deep it nests. An error says which event and where in the file. Untrusted.
/// generator: where not null, "otherData.generator" as soon as it was read.
Status read_json_events(std::istream& from, std::string_view key, const std::function<Status(const JsonEvent&)>& visit,
                        std::string* generator = nullptr);

}  // namespace megascope::importer
