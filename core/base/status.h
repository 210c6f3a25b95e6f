#pragma once

#include <string>
#include <utility>

namespace megascope {

/// Result of an operation that may fail: success, or one sentence that names the object and the
/// reason. The sentence is for the user: no prefix, no final newline. Cheap when it is success (an
/// empty string).
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status ok() { return {}; }
  static Status error(std::string message) {
    Status status;
    status.message_ = message.empty() ? std::string("unknown error") : std::move(message);
    return status;
  }
  /// `"what: strerror(error_number)"`.
  static Status from_errno(const std::string& what, int error_number);

  bool is_ok() const noexcept { return message_.empty(); }
  const std::string& message() const noexcept { return message_; }

  /// Keeps the first error of several.
  void update(Status other) {
    if (is_ok()) message_ = std::move(other.message_);
  }

 private:
  std::string message_;
};

}  // namespace megascope
