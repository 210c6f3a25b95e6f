#include "analysis/symbols/readable_name.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace megascope::symbols {
namespace {

/// Position of the bracket that matches the one at `close`; npos: none.
std::size_t opening(std::string_view text, std::size_t close) {
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

/// Start of the name after the result type, which only templates have in their demangled name.
std::size_t name_start(std::string_view text) {
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("operator") && depth == 0)
      break;  // "operator new", "operator<"
    const char letter = text[at];
    if (letter == '<' || letter == '(' || letter == '{' || letter == '[') ++depth;
    if (letter == '>' || letter == ')' || letter == '}' || letter == ']') --depth;
    if (letter == ' ' && depth == 0) start = at + 1;
  }
  return start;
}

std::string without_types(std::string_view text) {
  const std::size_t close = text.rfind(')');  // "const" and "&" of a member function follow it
  if (close == std::string_view::npos) return std::string(text);
  const std::size_t open = opening(text, close);
  if (open == std::string_view::npos || open == 0) return std::string(text);
  text = text.substr(0, open);
  return std::string(text.substr(name_start(text)));
}

std::string demangled(const std::string& symbol) {
  int failure = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failure), &std::free);
  return failure == 0 && text != nullptr ? std::string(text.get()) : std::string();
}

}  // namespace

std::string readable_name(std::string_view symbol) {
  const std::size_t dot = symbol.find(
      '.', 1);  // the compiler's own parts of a function: .constprop.0, ._omp_fn.0
  const std::string whole(symbol.substr(0, dot));
  if (whole.starts_with("_Z")) {
    const std::string text = demangled(whole);
    return text.empty() ? std::string(symbol) : without_types(text);
  }
  const std::size_t in_module = whole.find("_MOD_");
  if (whole.starts_with("__") && in_module != std::string::npos && in_module > 2) {  // gfortran's
    return whole.substr(2, in_module - 2) + "::" + whole.substr(in_module + 5);
  }
  return whole;
}

}  // namespace megascope::symbols
