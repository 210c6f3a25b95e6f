#pragma once

#include <string>
#include <string_view>

/// Responses to GET requests. Called on the hub's thread.
namespace megascope::live {

class Hub;

/// A response to GET. For an unknown path: status 404 with a JSON error.
struct Answer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
};
/// The response for a path (the target without its query).
Answer answer_to(std::string_view path, const Hub& hub);
/// Returns the response, with status 401, for a browser whose address lacks the token. It is a page
/// that says where the user finds the right address.
Answer no_token_answer();
/// A JSON error with the given status. text: a sentence.
Answer error_answer(unsigned status, const std::string& text);

/// The metrics in Prometheus text format, version 0.0.4.
std::string metrics_text(const Hub& hub);

}  // namespace megascope::live
