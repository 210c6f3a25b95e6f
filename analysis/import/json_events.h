#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace megascope::importer {

/// A decimal number of the file multiplied by 1000, without rounding. It converts microseconds to
/// ns. The value is whole + rest.
struct Thousandths {
  std::int64_t whole = 0;
  double rest = 0.0;  ///< at least 0 and less than 1
};
/// Returns the integer nearest to the sum; halves are rounded up.
std::int64_t rounded(const Thousandths& a, const Thousandths& b = {});

/// Parses a list of numbers, "[0, 1, 2]". is_whole: set to false if the text is not a list, or is a
/// truncated list such as "[0, 1, ...]".
std::vector<double> numbers_in(std::string_view text, bool& is_whole);

/// One object of an array of events: its strings, numbers and lists of numbers, and the strings and
/// numbers of its "args". Deeper levels are ignored, and so are keys after the first 256 of an
/// object.
class JsonEvent {
 public:
  /// Returns the position of the event in the array, from 0.
  std::size_t index() const { return index_; }
  /// Returns the string with this key; empty if there is none.
  const std::string& text(std::string_view key) const { return text_in(texts_, key); }
  const std::string& argument_text(std::string_view key) const {
    return text_in(argument_texts_, key);
  }
  std::optional<double> number(std::string_view key) const { return number_in(numbers_, key); }
  std::optional<double> argument(std::string_view key) const {
    return number_in(argument_numbers_, key);
  }
  /// number() × 1000. Results for numbers beyond ±9 × 10^15 are not exact, and limited to ±9 ×
  /// 10^18.
  std::optional<Thousandths> thousandths(std::string_view key) const;
  /// Returns the list of numbers with this key; nullptr if there is none. Elements of the list that
  /// are not numbers are ignored.
  const std::vector<double>* list(std::string_view key) const { return lists_.find(key); }
  /// Returns the value of "pid" or "tid": a number, or the hash of a string; 0 if there is none.
  std::int64_t id(std::string_view key) const;
  bool has(std::string_view key) const {
    return numbers_.find(key) != nullptr || texts_.find(key) != nullptr;
  }

 private:
  friend class EventHandler;
  struct Number {
    double value = 0.0;
    Thousandths exact;
  };
  /// A few values by key. The memory is reused for the next event.
  template <class Value>
  class Fields {
   public:
    const Value* find(std::string_view key) const {
      for (std::size_t i = 0; i < count_; ++i) {
        if (fields_[i].first == key) return &fields_[i].second;
      }
      return nullptr;
    }
    /// Returns the value of a key, added if it is new; nullptr if there are too many keys.
    Value* at(const std::string& key) {
      if (const Value* found = find(key)) return const_cast<Value*>(found);
      if (count_ == kMaxKeys) return nullptr;
      if (count_ == fields_.size()) fields_.emplace_back();
      fields_[count_].first = key;
      return &fields_[count_++].second;
    }
    void clear() { count_ = 0; }

   private:
    static constexpr std::size_t kMaxKeys = 256;
    std::vector<std::pair<std::string, Value>> fields_;
    std::size_t count_ = 0;
  };
  static const std::string& text_in(const Fields<std::string>& in, std::string_view key);
  static std::optional<double> number_in(const Fields<Number>& in, std::string_view key);
  void clear();

  Fields<std::string> texts_;
  Fields<std::string> argument_texts_;
  Fields<Number> numbers_;
  Fields<Number> argument_numbers_;
  Fields<std::vector<double>> lists_;
  std::size_t index_ = 0;
};

/// Members of the object that contains the array of events, other than the array. They may be
/// before or after it in the file.
struct JsonHeader {
  struct Group {
    std::string name;
    std::vector<double> ranks;
  };
  std::string generator;                ///< otherData.generator
  std::optional<std::int64_t> base_ns;  ///< baseTimeNanoseconds
  std::optional<double> rank;           ///< distributedInfo.rank
  std::optional<double> world_size;     ///< distributedInfo.world_size
  std::vector<Group> groups;            ///< distributedInfo.pg_config: at most 2^16
};

/// Reads the events of an array, or of the array `key` of an object, and calls `visit` for each.
/// Memory does not grow with the size or nesting of the file. Stops if `visit` returns an error.
/// Errors name the event and the position in the file. The input is untrusted. header: if not
/// nullptr, filled while the file is read.
Status read_json_events(std::istream& from, std::string_view key,
                        const std::function<Status(const JsonEvent&)>& visit,
                        JsonHeader* header = nullptr);

}  // namespace megascope::importer
