#include "exporters/chrome/findings.h"

#include "exporters/common/json_text.h"
#include "exporters/common/utf8.h"

#include <algorithm>

namespace megascope::chrome {
namespace {

constexpr std::int64_t kPid = 1 << 30;  // not the pid of any rank

std::string time_us(std::uint64_t time_ns) {
  timeline::JsonText text;
  text.time_us(time_ns);
  return std::string(text.view());
}

std::string number_text(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  const std::string_view shown(text, static_cast<std::size_t>(end - text));
  const bool is_finite = number - number == 0.0;
  return is_finite ? std::string(shown) : "null";
}

std::string metadata(std::string_view name, std::int64_t tid, const std::string& arguments) {
  return R"({"ph":"M","name":")" + std::string(name) + R"(","pid":)" + std::to_string(kPid) +
         R"(,"tid":)" + std::to_string(tid) + R"(,"args":{)" + arguments + "}}";
}

}  // namespace

std::string finding_text(const Annotation& finding) {
  std::string text = R"("name":")" + timeline::json_escaped(finding.name) +
                     R"(","cat":"finding","cname":"terrible","ts":)" + time_us(finding.begin_ns) +
                     R"(,"dur":)" +
                     time_us(std::max(finding.begin_ns, finding.end_ns) - finding.begin_ns) +
                     R"(,"args":{)";
  for (std::size_t i = 0; i < finding.arguments.size(); ++i) {
    const Annotation::Argument& argument = finding.arguments[i];
    text += (i == 0 ? "\"" : ",\"") + timeline::json_escaped(argument.name) + "\":";
    text += argument.text.empty() ? number_text(argument.number)
                                  : "\"" + timeline::json_escaped(argument.text) + "\"";
  }
  return text + "}";
}

std::string all_findings(const Annotations& annotations, std::uint64_t& event_count) {
  if (annotations.findings.empty()) return {};
  std::string text = "\n" + metadata("process_name", 0, R"("name":"MegaScope findings")") + ",\n" +
                     metadata("process_sort_index", 0, R"("sort_index":-1)");
  event_count += 2;
  for (std::size_t i = 0; i < annotations.findings.size(); ++i) {
    const auto tid = static_cast<std::int64_t>(i) + 1;
    text += ",\n" +
            metadata("thread_name", tid, R"("name":"finding )" + std::to_string(tid) + "\"");
    text += ",\n{\"ph\":\"X\"," + finding_text(annotations.findings[i]) + R"(,"pid":)" +
            std::to_string(kPid) + R"(,"tid":)" + std::to_string(tid) + "}";
    event_count += 2;
  }
  return text;
}

}  // namespace megascope::chrome
