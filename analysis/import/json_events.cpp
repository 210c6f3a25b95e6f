#include "analysis/import/json_events.h"

#include <nlohmann/json.hpp>

#include <functional>

namespace megascope::importer {

std::int64_t JsonEvent::id(std::string_view key) const {
  if (const std::optional<double> value = number(key); value && *value >= -9e15 && *value <= 9e15) return static_cast<std::int64_t>(*value);
  const std::string& name = text(key);
  return name.empty() ? 0 : static_cast<std::int64_t>(std::hash<std::string>{}(name) >> 2);
}

const std::string& JsonEvent::find_text(const Texts& in, std::string_view key) {
  static const std::string kNone;
  const auto found = in.find(key);
  return found == in.end() ? kNone : found->second;
}

std::optional<double> JsonEvent::find_number(const Numbers& in, std::string_view key) {
  const auto found = in.find(key);
  return found == in.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<double>* JsonEvent::list(std::string_view key) const {
  const auto found = lists_.find(key);
  return found == lists_.end() ? nullptr : &found->second;
}

void JsonEvent::clear() {
  lists_.clear();
  texts_.clear();
  argument_texts_.clear();
  numbers_.clear();
  argument_numbers_.clear();
}

/// nlohmann's event interface: it keeps no tree, and its own stack is a bit a level.
class EventHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  EventHandler(std::string_view key, const std::function<Status(const JsonEvent&)>& visit, std::string* generator, std::function<bool()> is_at_end)
      : wanted_(key), visit_(visit), generator_(generator), is_at_end_(std::move(is_at_end)) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t value) { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return take(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return take(value); }
  bool string(string_t& value) {
    if (generator_ != nullptr && array_depth_ == 0 && depth_ == 2 && key_ == "otherData" && header_key_ == "generator") *generator_ = std::move(value);
    else if (is_in_event()) event_.texts_[key_] = std::move(value);
    else if (is_in_arguments()) event_.argument_texts_[key_] = std::move(value);
    return true;
  }
  bool binary(binary_t&) { return true; }
  bool key(string_t& name) {
    if (array_depth_ == 0 && depth_ == 2) header_key_ = std::move(name);
    else if (depth_ == array_depth_ + 1 || depth_ == array_depth_ + 2) key_ = std::move(name);
    return true;
  }
  bool start_array(std::size_t) {
    ++depth_;
    const bool is_wanted = depth_ == 1 || (depth_ == 2 && key_ == wanted_);
    if (array_depth_ == 0 && !has_seen_array_ && is_wanted) array_depth_ = depth_;
    list_ = array_depth_ != 0 && depth_ == array_depth_ + 2 ? &event_.lists_[key_] : nullptr;
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
    if (array_depth_ == 0) return true;
    if (depth_ == array_depth_ + 1) event_.clear();
    if (depth_ == array_depth_ + 2) is_arguments_ = key_ == "args";
    return true;
  }
  bool end_object() {
    const bool is_event = array_depth_ != 0 && depth_ == array_depth_ + 1;
    if (depth_ == array_depth_ + 2) is_arguments_ = false;
    --depth_;
    if (!is_event) return true;
    const Status status = visit_(event_);
    if (!status.is_ok()) error_ = "event " + std::to_string(event_count_) + ": " + status.message();
    ++event_count_;
    return status.is_ok();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    constexpr int kOutOfRange = 406;
    if (array_depth_ != 0 && depth_ == array_depth_ && event_count_ != 0 && is_at_end_()) return false;  // Chrome lets the last ] miss
    error_ = std::string(error.id == kOutOfRange ? "a number is too large" : "no JSON") + " behind byte " + std::to_string(position) + ", in or behind event " + std::to_string(event_count_);
    return false;
  }

  Status status() const {
    if (!error_.empty()) return Status::error(error_);
    if (array_depth_ == 0 && !has_seen_array_) return Status::error("there is no array of events in it");
    return Status::ok();
  }

 private:
  bool is_in_event() const { return array_depth_ != 0 && depth_ == array_depth_ + 1; }
  bool is_in_arguments() const { return array_depth_ != 0 && depth_ == array_depth_ + 2 && is_arguments_; }
  bool take(double value) {
    if (list_ != nullptr) {
      if (list_->size() == kLongestList) error_ = "event " + std::to_string(event_count_) + ": a list of more than 2^20 numbers";
      list_->push_back(value);
      return error_.empty();
    }
    if (is_in_event()) event_.numbers_[key_] = value;
    else if (is_in_arguments()) event_.argument_numbers_[key_] = value;
    return true;
  }

  static constexpr std::size_t kLongestList = 1 << 20;

  std::string wanted_;
  const std::function<Status(const JsonEvent&)>& visit_;
  std::string* generator_;
  std::function<bool()> is_at_end_;  ///< of the file
  JsonEvent event_;
  std::string key_;
  std::string header_key_;  ///< in an object before the array
  std::vector<double>* list_ = nullptr;  ///< of the event, being read
  std::string error_;
  std::size_t depth_ = 0;
  std::size_t array_depth_ = 0;  ///< of the array of events; 0: not in it
  std::size_t event_count_ = 0;
  bool has_seen_array_ = false;
  bool is_arguments_ = false;
};

Status read_json_events(std::istream& from, std::string_view key, const std::function<Status(const JsonEvent&)>& visit, std::string* generator) {
  EventHandler handler(key, visit, generator, [&from] { return from.eof(); });
  (void)nlohmann::json::sax_parse(from, &handler);
  return handler.status();
}

}  // namespace megascope::importer
