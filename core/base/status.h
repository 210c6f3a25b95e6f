#pragma once

#include <string>
#include <utility>

namespace megascope {

/// Result of an operation that can fail: success, or one sentence for the user that names the
/// object and the reason, without prefix and final newline. Success is an empty string and
/// allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status ok() { return {}; }
  static Status error(std::string message) {
    Status status;
    status.message_ = message.empty() ? std::string("unknown error") : std::move(message);
    return status;
  }
  /// Returns the error `"what: strerror(error_number)"`.
  static Status from_errno(const std::string& what, int error_number);

  bool is_ok() const noexcept { return message_.empty(); }
  const std::string& message() const noexcept { return message_; }

  /// Replaces a success by `other`. An error stays, so that the first of several errors is kept.
  void update(Status other) {
    if (is_ok()) message_ = std::move(other.message_);
  }

 private:
  std::string message_;
};

}  // namespace megascope
