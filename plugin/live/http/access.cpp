#include "plugin/live/http/access.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <sys/random.h>
#include <utility>

namespace megascope::live {
namespace {

constexpr std::string_view kBearer = "bearer ";

struct HostPort {
  std::string name;       ///< lower case
  std::string_view port;  ///< empty: not given
};

/// Splits "localhost:80", "[::1]:80" or "name".
std::optional<HostPort> split_host(std::string_view text) {
  const std::size_t name_end = text.starts_with('[') ? text.find(']') + 1
                                                     : std::min(text.find(':'), text.size());
  if (name_end == 0) return std::nullopt;
  std::string_view rest = text.substr(name_end);
  if (!rest.empty()) {
    rest.remove_prefix(1);
    const bool is_number = !rest.empty() && rest.size() <= 5 &&
                           std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
    if (text[name_end] != ':' || !is_number) return std::nullopt;
  }
  return HostPort{lower_case(text.substr(0, name_end)), rest};
}

bool is_loopback(std::string_view name) {
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

/// Compares a host with an allowed one. `allowed` without a port matches any port.
bool is_same_host(const HostPort& asked, std::string_view allowed) {
  const std::optional<HostPort> one = split_host(allowed);
  return one && one->name == asked.name && (one->port.empty() || one->port == asked.port);
}

}  // namespace

Status make_token(std::string& token) {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno != EINTR)
      return Status::from_errno("cannot get random numbers for the live view's token", errno);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  token.clear();
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return Status::ok();
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  volatile unsigned char differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

std::string_view path_of(std::string_view target) noexcept {
  return target.substr(0, target.find('?'));
}

std::string_view token_in_target(std::string_view target) noexcept {
  constexpr std::string_view kName = "token=";
  const std::size_t question = target.find('?');
  std::string_view query = question == std::string_view::npos ? std::string_view()
                                                              : target.substr(question + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with(kName)) return pair.substr(kName.size());
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
  }
  return {};
}

Access::Access(std::string token, std::vector<std::string> hosts)
    : token_(std::move(token)), hosts_(std::move(hosts)) {}

bool Access::is_known_host(std::string_view host) const {
  const std::optional<HostPort> asked = split_host(host);
  if (!asked) return false;
  return is_loopback(asked->name) || std::ranges::any_of(hosts_, [&](const std::string& one) {
           return is_same_host(*asked, one);
         });
}

/// Whether the page came from this server, under the name in Host, or from a name that the user
/// allowed. http and https are accepted.
bool Access::is_known_origin(std::string_view origin, std::string_view host) const {
  const std::size_t scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;
  const std::string_view scheme = origin.substr(0, scheme_end);
  const std::string_view from = origin.substr(scheme_end + 3);
  if (scheme == "http" && lower_case(from) == lower_case(host)) return true;
  const std::optional<HostPort> asked = split_host(from);
  return (scheme == "http" || scheme == "https") && asked &&
         std::ranges::any_of(hosts_,
                             [&](const std::string& one) { return is_same_host(*asked, one); });
}

bool Access::is_local_origin(std::string_view origin) const {
  const std::size_t scheme_end = origin.find("://");
  const std::string_view scheme = origin.substr(0, scheme_end);
  if (scheme_end == std::string_view::npos || (scheme != "http" && scheme != "https")) return false;
  return is_known_host(origin.substr(scheme_end + 3));
}

bool Access::has_token(const Credentials& credentials) const {
  if (equal_in_constant_time(token_in_target(credentials.target), token_)) return true;
  const std::string_view given = credentials.authorization;
  return given.size() > kBearer.size() && lower_case(given.substr(0, kBearer.size())) == kBearer &&
         equal_in_constant_time(trimmed(given.substr(kBearer.size())), token_);
}

Refusal Access::judge(const Credentials& credentials) const {
  if (!credentials.has_one_host || !is_known_host(credentials.host))
    return {403,
            "The Host header is not a name of this server. Use 127.0.0.1, or add the name to "
            "MEGASCOPE_LIVE_HOSTS."};
  if (credentials.has_origin && !is_known_origin(credentials.origin, credentials.host))
    return {403, "The Origin header names another site."};
  if (!has_token(credentials))
    return {
        401,
        "An access token is required. Open the URL printed at start, or see the file live_url in "
        "the run directory."};
  return {};
}

Refusal Access::judge_compat(const Credentials& credentials) const {
  if (!credentials.has_one_host || !is_known_host(credentials.host))
    return {403,
            "The Host header is not a name of this server. Use localhost, or add the name to "
            "MEGASCOPE_LIVE_HOSTS."};
  if (credentials.has_origin && !is_local_origin(credentials.origin))
    return {403, "The Origin header names another machine."};
  return {};
}

}  // namespace megascope::live
