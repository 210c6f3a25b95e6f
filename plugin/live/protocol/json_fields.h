#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace megascope::live {

/// Serializes JSON; invalid UTF-8 is replaced.
inline std::string dumped(const nlohmann::json& message) {
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Parses an untrusted JSON object. On error, sets `problem` and returns an empty object. Nesting
/// is limited to kMaxNesting, because copying and serializing JSON is recursive.
inline nlohmann::json parsed_object(std::string_view text, std::string& problem) {
  constexpr int kMaxNesting = 16;
  using Json = nlohmann::json;
  bool is_deep = false;
  Json message = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > kMaxNesting;
        return !is_deep;
      },
      false);
  if (is_deep)
    problem = "The message is nested deeper than " + std::to_string(kMaxNesting) + " levels.";
  else if (message.is_discarded())
    problem = "The message is not valid JSON.";
  else if (!message.is_object())
    problem = "The message is not a JSON object.";
  return problem.empty() ? message : Json::object();
}

/// Reads fields of an untrusted object. The first field with a wrong value sets problem(); later
/// reads then have no effect. If a field is absent or null, the target is unchanged.
class Fields {
 public:
  using Json = nlohmann::json;
  explicit Fields(const Json& object) : object_(object) {}

  bool has(const char* name) const { return object_.contains(name) && !object_[name].is_null(); }
  const Json& operator[](const char* name) const { return object_[name]; }

  /// Reads an integer in [least, most].
  template <class Number>
  void number(const char* name, std::int64_t least, std::int64_t most, Number& to) {
    if (!problem_.empty() || !has(name)) return;
    const std::optional<std::int64_t> value = whole_number(object_[name]);
    if (!value || *value < least || *value > most)
      return fail(name,
                  "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    to = static_cast<Number>(*value);
  }
  /// Reads a number in [least, most].
  void real(const char* name, double least, double most, double& to) {
    if (!problem_.empty() || !has(name)) return;
    const double value = object_[name].is_number() ? object_[name].get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
    if (!(value >= least && value <= most))
      return fail(name, "a number from " + Json(least).dump() + " to " + Json(most).dump());
    to = value;
  }
  /// Reads a text of 1 to max_bytes bytes. The field must be present.
  void text(const char* name, std::size_t max_bytes, std::string& to) {
    if (!problem_.empty()) return;
    if (!has(name) || !object_[name].is_string()) return fail(name, "a text");
    to = object_[name].get<std::string>();
    if (to.empty() || to.size() > max_bytes)
      fail(name, "a text of 1 to " + std::to_string(max_bytes) + " bytes");
  }
  void fail(const std::string& name, const std::string& expected) {
    if (problem_.empty()) problem_ = "`" + name + "` must be " + expected + ".";
  }
  void fail(std::string sentence) {
    if (problem_.empty()) problem_ = std::move(sentence);
  }
  const std::string& problem() const { return problem_; }

  static std::optional<std::int64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
  }

 private:
  const Json& object_;
  std::string problem_;
};

}  // namespace megascope::live
