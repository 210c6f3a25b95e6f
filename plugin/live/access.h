#pragma once

#include "core/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Who may ask (docs/live_protocol.md, "Who may"). Pure, but for make_token().
namespace megascope::live {

/// 128 bits from the kernel, as 32 hexadecimal digits.
Status make_token(std::string& token);

/// Takes as long for any two texts of one length.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// The value of `token` in a request's target, "/ws/v1?token=1234"; empty: there is none.
std::string_view token_in_target(std::string_view target) noexcept;
/// The target without what follows `?`.
std::string_view path_of(std::string_view target) noexcept;

/// What of an HTTP request tells who asks; as the client wrote it, any bytes.
struct Credentials {
  std::string_view target;
  std::string_view authorization;
  std::string_view host;
  std::string_view origin;
  bool has_origin = false;
  bool has_one_host = true;  ///< HTTP/1.1 asks for exactly one such header
};

struct Refusal {
  unsigned status = 0;  ///< of HTTP; 0: come in
  std::string text;     ///< a sentence
};

/// Host against DNS rebinding, Origin against other sites' pages, token against other users of the
/// node. Any thread.
class Access {
 public:
  /// hosts: names beside loopback's, with or without a port (then any).
  Access(std::string token, std::vector<std::string> hosts);
  Refusal judge(const Credentials& credentials) const;
  /// The same for the compatibility endpoint, which knows no token and whose clients' pages come
  /// from other servers of this machine.
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
