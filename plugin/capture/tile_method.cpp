#include "plugin/capture/tile_method.h"

#include <array>
#include <cctype>
#include <utility>

namespace megascope::capture {
namespace {

using kernels::TileMethod;
using kernels::TileReduction;

struct Named {
  std::string_view name;
  TileReduction reduction;
  bool has_abs_before;
};
constexpr std::array<Named, 10> kReductions{{{"mean", TileReduction::kMean, false},
                                             {"max", TileReduction::kMax, false},
                                             {"amax", TileReduction::kMax, false},
                                             {"min", TileReduction::kMin, false},
                                             {"amin", TileReduction::kMin, false},
                                             {"std", TileReduction::kStd, false},
                                             {"norm", TileReduction::kNorm, false},
                                             {"sum", TileReduction::kSum, false},
                                             {"rms", TileReduction::kRms, false},
                                             {"absmax", TileReduction::kMax, true}}};
constexpr unsigned kMaxDepth = 16;
constexpr std::string_view kAlone = "mean, max, min, std, norm, sum, absmax and rms";
constexpr std::string_view kChained = "abs, mean, max, min, std, norm and sum";

const Named* find(std::string_view name) {
  for (const Named& named : kReductions) {
    if (named.name == name) return &named;
  }
  return nullptr;
}

/// value   := "data" | "(" value ")" | "torch." word "(" value ["," arguments] ")"
/// chain   := value { "." word [ "(" arguments ")" ] | "[0]" }
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<TileMethod> parse(std::string& problem) {
    chain(0);
    if (problem_.empty() && (skip_spaces(), at_ != text_.size())) fail("an end");
    if (problem_.empty() && !is_reduced_)
      problem_ = "it contains no reduction; use one of mean, max, min, std, norm or sum";
    problem = std::move(problem_);
    return problem.empty() ? std::optional(method_) : std::nullopt;
  }

 private:
  void fail(std::string_view expected) {
    if (problem_.empty())
      problem_ = "at character " + std::to_string(at_ + 1) + " " + std::string(expected) +
                 " was expected";
  }
  void refuse(std::string_view name) {
    if (problem_.empty())
      problem_ = "unknown reduction `" + std::string(name.substr(0, 40)) + "`; there are " +
                 std::string(kAlone) + "; after `data.`: " + std::string(kChained);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (problem_.empty() && !take(wanted)) fail(std::string("'") + wanted + "'");
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void chain(unsigned depth) {
    if (depth == kMaxDepth) return fail("less nesting");
    value(depth);
    while (problem_.empty()) {
      if (take('['))
        index();
      else if (take('.'))
        member();
      else
        break;
    }
  }
  void value(unsigned depth) {
    if (take('(')) {
      chain(depth + 1);
      return expect(')');
    }
    const std::size_t begin = at_;
    const std::string_view name = word();
    if (name == "data") return;
    if (name != "torch") {
      if (name.size() == text_.size()) return refuse(name);
      at_ = begin;
      return fail("'data'");
    }
    expect('.');
    const std::string_view function = word();
    expect('(');
    if (problem_.empty()) chain(depth + 1);
    const Arguments given = problem_.empty() && take(',') ? arguments() : Arguments{};
    expect(')');
    if (problem_.empty()) apply(function, given);
  }
  /// torch's max(dim) and min(dim) return a pair of values and indices.
  void index() {
    if (!std::exchange(may_choose_, false) || word() != "0")
      return fail("index [0] after max or min");
    expect(']');
  }
  void member() {
    const std::string_view name = word();
    if (name == "values" && std::exchange(may_choose_, false)) return;
    if (!take('(')) return fail("'(' after the name of a method");
    skip_spaces();
    const bool has_none = at_ < text_.size() && text_[at_] == ')';
    const Arguments given = has_none ? Arguments{} : arguments();
    expect(')');
    if (problem_.empty()) apply(name, given);
  }

  struct Arguments {
    bool has_dimension = false;
    double order = 2.0;  ///< order of a norm
  };
  Arguments arguments() {
    Arguments given;
    do {
      argument(given);
    } while (problem_.empty() && take(','));
    return given;
  }
  void argument(Arguments& given) {
    const std::size_t begin = at_;
    const std::string_view name = word();
    const bool is_named = !name.empty() && take('=');
    if (!is_named) at_ = begin;
    if (!is_named || name == "dim" || name == "axis") {
      if (!take('-') || word() != "1") return fail("the last dimension, -1,");
      given.has_dimension = true;
      return;
    }
    const std::string_view value = word();
    if (name == "p" || name == "ord") {
      if (value == "1")
        given.order = 1.0;
      else if (value != "2")
        fail("a norm of order 1 or 2");
      return;
    }
    if (name != "keepdim" || (value != "True" && value != "False")) fail("dim, axis, keepdim or p");
  }

  void apply(std::string_view name, const Arguments& given) {
    may_choose_ = false;
    if (name == "abs" || name == "absolute") {
      (is_reduced_ ? method_.has_abs_after : method_.has_abs_before) = true;
      return;
    }
    const Named* const found = find(name);
    if (name == "rms" || name == "absmax") {
      problem_ = "`" + std::string(name) + "` cannot be part of a chain; a chain can use " +
                 std::string(kChained);
      return;
    }
    if (found == nullptr) return refuse(name);
    if (is_reduced_) return fail("only one reduction");
    if (!given.has_dimension) return fail("dim=-1 in the reduction");
    reduce(*found, given);
  }
  void reduce(const Named& found, const Arguments& given) {
    is_reduced_ = true;
    method_.reduction = found.reduction;
    may_choose_ = found.name == "max" || found.name == "min";
    if (found.reduction != TileReduction::kNorm || given.order != 1.0) return;
    method_.reduction = TileReduction::kSum;  // the sum of |x| is the norm of order 1
    method_.has_abs_before = true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TileMethod method_;
  bool is_reduced_ = false;
  bool may_choose_ = false;
  std::string problem_;
};

}  // namespace

std::optional<TileMethod> parse_tile_method(std::string_view text, std::string& problem) {
  if (text.size() > kMaxMethodBytes) {
    problem = "it is longer than " + std::to_string(kMaxMethodBytes) + " characters";
    return std::nullopt;
  }
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    problem = "it is empty; write a reduction (" + std::string(kAlone) +
              ") or a chain such as `data.abs().mean(dim=-1)`";
    return std::nullopt;
  }
  if (const Named* const found = find(text))
    return TileMethod{found->reduction, found->has_abs_before, false};
  return Parser(text).parse(problem);
}

std::string name_of(const TileMethod& method) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(TileReduction::kCount)> kNames{
      "mean", "max", "min", "std", "norm", "sum", "rms"};
  const std::string reduced = std::string(kNames[static_cast<std::size_t>(method.reduction)]) +
                              (method.has_abs_before ? "(|x|)" : "(x)");
  return method.has_abs_after ? "|" + reduced + "|" : reduced;
}

}  // namespace megascope::capture
