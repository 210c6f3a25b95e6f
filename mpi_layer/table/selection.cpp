#include "mpi_layer/table/selection.h"

#include "core/base/text.h"
#include "mpi_layer/table/regions.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace megascope::mpi {
namespace {

constexpr bool is_always_recorded(Fn fn) {
  return fn == Fn::Init || fn == Fn::Init_thread || fn == Fn::Finalize || fn == Fn::Abort ||
         fn == Fn::Pcontrol;
}
/// Returns a function's entry in g_selected.
constexpr std::uint8_t selected_bits(Fn fn, bool is_recorded) {
  if (is_recorded || is_always_recorded(fn))
    return static_cast<std::uint8_t>(tracks_handles(fn) ? kRecords | kTracking : kRecords);
  return is_always_tracked(fn) ? kTracking : 0;
}
/// One constant for each entry: all in one expression exceed the compiler's evaluation limit.
template <Fn fn>
inline constexpr std::uint8_t kDefaultBits = selected_bits(fn, is_recorded_by_default(fn));
constexpr bool carries_messages(Fn fn) { return group_of(fn) == Group::kP2p; }

template <class Test>
bool set_where(Test&& test, bool is_recorded) {
  bool has_any = false;
  for (unsigned i = 1; i < kFnEnd; ++i) {
    const Fn fn = static_cast<Fn>(i);
    if (!test(fn)) continue;
    has_any = true;
    g_selected[i] = selected_bits(fn, is_recorded);
  }
  return has_any;
}

bool apply(std::string_view name, bool is_recorded) {
  if (name == "all" || name == "none")
    return set_where([](Fn) { return true; }, is_recorded == (name == "all"));
  if (name == "default") return set_where(is_recorded_by_default, is_recorded);
  if (!name.starts_with("mpi_"))
    return set_where([name](Fn fn) { return name == group_name(group_of(fn)); }, is_recorded);
  const bool is_prefix = name.ends_with('*');
  if (is_prefix) name.remove_suffix(1);
  return set_where(
      [name, is_prefix](Fn fn) {
        const std::string function = lower_case(mpi_name(fn));
        return is_prefix ? function.starts_with(name) : function == name;
      },
      is_recorded);
}

std::string nearest_known(const std::string& name) {
  std::vector<std::string> lower;
  std::vector<std::string_view> known = {"all", "none", "default"};
  for (unsigned i = 0; i < static_cast<unsigned>(Group::kCount); ++i)
    known.push_back(group_name(static_cast<Group>(i)));
  const std::size_t groups = known.size();
  for (unsigned i = 1; i < kFnEnd; ++i) lower.push_back(lower_case(mpi_name(static_cast<Fn>(i))));
  known.insert(known.end(), lower.begin(), lower.end());
  const std::string_view nearest = nearest_name(name, known);
  for (std::size_t i = groups; i < known.size(); ++i) {
    if (known[i] == nearest) return mpi_name(static_cast<Fn>(i - groups + 1));
  }
  return std::string(nearest);
}

std::string unknown_item_text(const std::string& item, const std::string& name) {
  const std::string text = "MEGASCOPE_MPI: " + item +
                           " is neither a function nor a group and is ignored";
  const std::string nearest = nearest_known(name);
  return text + (nearest.empty() ? "; `megascope info --functions` lists them"
                                 : ": did you mean " + nearest + "?");
}

}  // namespace

constinit std::uint8_t g_selected[kFnEnd] = {
    0,
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, kDefaultBits<Fn::name>, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

std::vector<std::string> select_functions(const std::vector<std::string>& items) {
  std::vector<std::string> problems;
  const bool is_positive = !items.empty() && !items.front().starts_with('-');
  if (is_positive) apply("none", true);
  for (const std::string& item : items) {
    const bool leaves_out = item.starts_with('-');
    const std::string name = lower_case(trimmed(std::string_view(item).substr(leaves_out ? 1 : 0)));
    if (!apply(name, !leaves_out)) problems.push_back(unknown_item_text(item, name));
  }
  const bool chose_nothing = is_positive && problems.size() == items.size();
  if (chose_nothing)
    apply("default", true);  // a typing error does not mean that nothing should be recorded
  return problems;
}

bool leaves_out_messages() noexcept {
  for (unsigned i = 1; i < kFnEnd; ++i) {
    if (carries_messages(static_cast<Fn>(i)) && (g_selected[i] & kRecords) == 0) return true;
  }
  return false;
}

}  // namespace megascope::mpi
