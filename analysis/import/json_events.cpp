#include "analysis/import/json_events.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace megascope::importer {

namespace {

constexpr double kMaxExact = 9e15;
constexpr double kMaxThousandths = 9e18;

Thousandths inexact(double value) {
  const double all = std::clamp(value * 1e3, -kMaxThousandths, kMaxThousandths);
  const double whole = std::floor(all);
  return {static_cast<std::int64_t>(whole), all - whole};
}

/// Of a number in the text of a file, whose value is `value`.
Thousandths exactly(double value, std::string_view text) {
  if (!(std::fabs(value) <= kMaxExact) || text.find_first_of("eE") != std::string_view::npos)
    return inexact(value);
  const bool is_negative = text.starts_with('-');
  const std::size_t point = text.find('.');
  std::int64_t whole = 0;
  double rest = 0.0;
  double digit_value = 0.1;
  std::size_t decimals = 0;
  for (std::size_t i = is_negative ? 1 : 0; i < text.size(); ++i) {
    if (i == point) continue;
    const int digit = text[i] - '0';
    if (i < point || decimals++ < 3) {
      whole = whole * 10 + digit;
    } else {
      rest += digit * digit_value;
      digit_value /= 10;
    }
  }
  for (; decimals < 3; ++decimals) whole *= 10;
  if (!is_negative) return {whole, std::min(rest, 1.0 - 1e-12)};
  return rest == 0.0 ? Thousandths{-whole, 0.0}
                     : Thousandths{-whole - 1, std::max(1.0 - rest, 0.0)};
}

}  // namespace

std::vector<double> numbers_in(std::string_view text, bool& is_whole) {
  std::vector<double> numbers;
  is_whole = text.starts_with('[') && text.ends_with(']');
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc{} && next != at) {
      if (std::isfinite(value)) numbers.push_back(value);
      at = next;
      continue;
    }
    if (*at == '.') is_whole = false;  // "[0, 1, ...]"
    ++at;
  }
  return numbers;
}

std::int64_t rounded(const Thousandths& a, const Thousandths& b) {
  return a.whole + b.whole + static_cast<std::int64_t>(std::floor(a.rest + b.rest + 0.5));
}

std::int64_t JsonEvent::id(std::string_view key) const {
  if (const std::optional<double> value = number(key); value && *value >= -9e15 && *value <= 9e15)
    return static_cast<std::int64_t>(*value);
  const std::string& name = text(key);
  return name.empty() ? 0 : static_cast<std::int64_t>(std::hash<std::string>{}(name) >> 2);
}

const std::string& JsonEvent::text_in(const Fields<std::string>& in, std::string_view key) {
  static const std::string kNone;
  const std::string* found = in.find(key);
  return found == nullptr ? kNone : *found;
}

std::optional<double> JsonEvent::number_in(const Fields<Number>& in, std::string_view key) {
  const Number* found = in.find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

std::optional<Thousandths> JsonEvent::thousandths(std::string_view key) const {
  const Number* found = numbers_.find(key);
  return found == nullptr ? std::nullopt : std::optional(found->exact);
}

void JsonEvent::clear() {
  lists_.clear();
  texts_.clear();
  argument_texts_.clear();
  numbers_.clear();
  argument_numbers_.clear();
}

/// Where in "distributedInfo" the reader is, and what it takes from there.
class HeaderReader {
 public:
  explicit HeaderReader(JsonHeader& header) : header_(header) {}

  void key(std::size_t depth, const std::string& name) {
    if (depth == 1)
      top_ = name;
    else if (depth == 2)
      second_ = name;
    else if (depth == 4)
      fourth_ = name;
  }
  void text(std::size_t depth, std::string& value) {
    if (depth == 2 && top_ == "otherData" && second_ == "generator")
      header_.generator = std::move(value);
    else if (is_in_group(depth) && fourth_ == "pg_name")
      header_.groups.back().name = std::move(value);
    else if (is_in_group(depth) && fourth_ == "ranks")
      add_ranks(value);
    else if (depth == 2 && top_ == "distributedInfo")
      take(second_, number_in(value));
  }
  void number(std::size_t depth, double value, std::int64_t exact) {
    if (depth == 1 && top_ == "baseTimeNanoseconds")
      header_.base_ns = exact;
    else if (depth == 2 && top_ == "distributedInfo")
      take(second_, value);
    else if (depth == 5 && is_in_group(4) && fourth_ == "ranks")
      add_rank(value);
  }
  void begin_object(std::size_t depth) {
    is_group_ = depth == 4 && top_ == "distributedInfo" && second_ == "pg_config" &&
                header_.groups.size() < kMaxGroups;
    if (is_group_) header_.groups.emplace_back();
  }

 private:
  static constexpr std::size_t kMaxGroups = 1 << 16;
  static constexpr std::size_t kMaxMembers = 1 << 20;

  bool is_in_group(std::size_t depth) const { return depth == 4 && is_group_; }
  static std::optional<double> number_in(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
  }
  void take(const std::string& name, std::optional<double> value) {
    if (value && name == "rank") header_.rank = value;
    if (value && name == "world_size") header_.world_size = value;
  }
  void add_rank(double rank) {
    std::vector<double>& ranks = header_.groups.back().ranks;
    if (ranks.size() < kMaxMembers) ranks.push_back(rank);
  }
  /// "[0, 1, 2]": of older versions.
  void add_ranks(const std::string& text) {
    bool is_whole = false;
    for (const double rank : numbers_in(text, is_whole)) add_rank(rank);
  }

  JsonHeader& header_;
  std::string top_;
  std::string second_;
  std::string fourth_;
  bool is_group_ = false;
};

/// nlohmann's event interface: it keeps no tree, and its own stack is a bit a level.
class EventHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  EventHandler(std::string_view key, const std::function<Status(const JsonEvent&)>& visit,
               JsonHeader& header, std::function<bool()> is_at_end)
      : wanted_(key), visit_(visit), header_(header), is_at_end_(std::move(is_at_end)) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t value) { return take_integer(value); }
  bool number_unsigned(number_unsigned_t value) {
    return take_integer(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, INT64_MAX)));
  }
  bool number_float(number_float_t value, const string_t& text) {
    return take(value, [&] { return exactly(value, text); });
  }
  bool string(string_t& value) {
    if (array_depth_ == 0) {
      header_.text(depth_, value);
      return true;
    }
    std::string* const at = is_in_event()       ? event_.texts_.at(key_)
                            : is_in_arguments() ? event_.argument_texts_.at(key_)
                                                : nullptr;
    if (at != nullptr) at->swap(value);
    return true;
  }
  bool binary(binary_t&) { return true; }
  bool key(string_t& name) {
    if (array_depth_ == 0) header_.key(depth_, name);
    if (depth_ == array_depth_ + 1 || depth_ == array_depth_ + 2) key_ = std::move(name);
    return true;
  }
  bool start_array(std::size_t) {
    ++depth_;
    const bool is_wanted = depth_ == 1 || (depth_ == 2 && key_ == wanted_);
    if (array_depth_ == 0 && !has_seen_array_ && is_wanted) array_depth_ = depth_;
    list_ = array_depth_ != 0 && depth_ == array_depth_ + 2 ? event_.lists_.at(key_) : nullptr;
    if (list_ != nullptr) list_->clear();
    return true;
  }
  bool end_array() {
    list_ = nullptr;
    if (depth_ == array_depth_) {
      array_depth_ = 0;
      has_seen_array_ = true;
    }
    --depth_;
    return true;
  }
  bool start_object(std::size_t) {
    ++depth_;
    list_ = nullptr;
    if (array_depth_ == 0) {
      header_.begin_object(depth_);
      return true;
    }
    if (depth_ == array_depth_ + 1) event_.clear();
    if (depth_ == array_depth_ + 2) is_arguments_ = key_ == "args";
    return true;
  }
  bool end_object() {
    const bool is_event = array_depth_ != 0 && depth_ == array_depth_ + 1;
    if (depth_ == array_depth_ + 2) is_arguments_ = false;
    --depth_;
    if (!is_event) return true;
    event_.index_ = event_count_;
    const Status status = visit_(event_);
    if (!status.is_ok()) error_ = "event " + std::to_string(event_count_) + ": " + status.message();
    ++event_count_;
    return status.is_ok();
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    constexpr int kOutOfRange = 406;
    if (array_depth_ != 0 && depth_ == array_depth_ && event_count_ != 0 && is_at_end_())
      return false;  // Chrome lets the last ] miss
    error_ = std::string(error.id == kOutOfRange ? "a number is too large" : "invalid JSON") +
             " after byte " + std::to_string(position) + ", in or after event " +
             std::to_string(event_count_);
    return false;
  }

  Status status() const {
    if (!error_.empty()) return Status::error(error_);
    if (array_depth_ == 0 && !has_seen_array_)
      return Status::error("it contains no array of events");
    return Status::ok();
  }

 private:
  bool is_in_event() const { return array_depth_ != 0 && depth_ == array_depth_ + 1; }
  bool is_in_arguments() const {
    return array_depth_ != 0 && depth_ == array_depth_ + 2 && is_arguments_;
  }
  bool take_integer(std::int64_t value) {
    if (array_depth_ == 0) header_.number(depth_, static_cast<double>(value), value);
    const auto number = static_cast<double>(value);
    return take(number, [&] {
      return std::fabs(number) <= kMaxExact ? Thousandths{value * 1000, 0.0} : inexact(number);
    });
  }
  /// exact: what the number is in thousandths.
  template <class Exact>
  bool take(double value, Exact exact) {
    if (list_ != nullptr) {
      if (list_->size() == kLongestList)
        error_ = "event " + std::to_string(event_count_) + ": a list has more than 2^20 numbers";
      list_->push_back(value);
      return error_.empty();
    }
    JsonEvent::Number* const at = is_in_event()       ? event_.numbers_.at(key_)
                                  : is_in_arguments() ? event_.argument_numbers_.at(key_)
                                                      : nullptr;
    if (at != nullptr) *at = {value, is_in_event() ? exact() : Thousandths{}};
    return true;
  }

  static constexpr std::size_t kLongestList = 1 << 20;

  std::string wanted_;
  const std::function<Status(const JsonEvent&)>& visit_;
  HeaderReader header_;
  std::function<bool()> is_at_end_;  ///< of the file
  JsonEvent event_;
  std::string key_;
  std::vector<double>* list_ = nullptr;  ///< of the event, being read
  std::string error_;
  std::size_t depth_ = 0;
  std::size_t array_depth_ = 0;  ///< of the array of events; 0: not in it
  std::size_t event_count_ = 0;
  bool has_seen_array_ = false;
  bool is_arguments_ = false;
};

Status read_json_events(std::istream& from, std::string_view key,
                        const std::function<Status(const JsonEvent&)>& visit, JsonHeader* header) {
  JsonHeader ignored;
  EventHandler handler(key, visit, header != nullptr ? *header : ignored,
                       [&from] { return from.eof(); });
  (void)nlohmann::json::sax_parse(from, &handler);
  return handler.status();
}

}  // namespace megascope::importer
