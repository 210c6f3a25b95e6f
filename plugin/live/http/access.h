#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Access control of the live view's server (docs/live_protocol.md, "Who may"). Pure functions,
/// except make_token().
namespace megascope::live {

/// Creates an access token: 128 random bits from the kernel, as 32 hexadecimal digits.
Status make_token(std::string& token);

/// Compares two texts. The duration depends only on their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// Returns the value of the parameter `token` in a request target such as "/ws/v1?token=1234".
/// Returns an empty string if the target has no such parameter.
std::string_view token_in_target(std::string_view target) noexcept;
/// Returns the part of a request target before `?`.
std::string_view path_of(std::string_view target) noexcept;

/// The parts of an HTTP request that access control reads. Untrusted; any bytes.
struct Credentials {
  std::string_view target;
  std::string_view authorization;
  std::string_view host;
  std::string_view origin;
  bool has_origin = false;
  bool has_one_host = true;  ///< exactly one Host header, as HTTP/1.1 requires
};

/// The result of an access check.
struct Refusal {
  unsigned status = 0;  ///< HTTP status of the refusal; 0: access is granted
  std::string text;     ///< sentence for the client
};

/// Checks requests. The check of the Host header prevents DNS rebinding, that of the Origin header
/// access by pages of other sites, and that of the token access by other users of the node. Any
/// thread.
class Access {
 public:
  /// hosts: host names that are accepted in addition to the loopback names. A name without a port
  /// is accepted with any port.
  Access(std::string token, std::vector<std::string> hosts);
  /// Checks a request to the live view.
  Refusal judge(const Credentials& credentials) const;
  /// Checks a request to the compatibility endpoint, which has no token and whose clients' pages
  /// come from other servers on this machine.
  Refusal judge_compat(const Credentials& credentials) const;

 private:
  bool is_known_host(std::string_view host) const;
  bool is_known_origin(std::string_view origin, std::string_view host) const;
  bool is_local_origin(std::string_view origin) const;
  bool has_token(const Credentials& credentials) const;

  std::string token_;
  std::vector<std::string> hosts_;
};

}  // namespace megascope::live
