#pragma once

#include <string>
#include <string_view>

/// What the server says of itself and of the run, as texts. Pure; the hub's thread.
namespace megascope::live {

class Hub;

/// The message `hello`.
std::string hello_text(const Hub& hub);

/// An answer to GET; status 404 with a JSON error where there is no such path.
struct Answer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
};
/// path: of the target, without a query.
Answer answer_to(std::string_view path, const Hub& hub);
/// Status 401, for a browser that was given an address without the token: a page that says where
/// the right one is.
Answer no_token_answer();
Answer error_answer(unsigned status, const std::string& text);

/// Prometheus' text format, version 0.0.4.
std::string metrics_text(const Hub& hub);

}  // namespace megascope::live
