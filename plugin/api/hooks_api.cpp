#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "core/hooks/requests.h"
#include "plugin/api/megascope/megascope.h"
#include "plugin/api/tensor_view.h"

#include <algorithm>
#include <array>
#include <string_view>

/// The functions of megascope.h in libmegascope.so, over core/hooks. They are exported twice: under
/// their names, for dlsym and ctypes, and as the table megascope_hooks_v1, for the stub.
namespace megascope::api {
namespace {

std::string_view text(const char* name) {
  return name == nullptr ? std::string_view() : std::string_view(name);
}

RegionId id_of(megascope_region region) {
  return region < kFirstReservedRegion ? static_cast<RegionId>(region) : kNoRegion;
}

/// The members of a megascope_where that apply.
struct Numbers {
  std::array<hooks::Number, 3> all;
  std::size_t count = 0;
};
Numbers numbers_of(const megascope_where& where) {
  Numbers numbers{};
  const auto add = [&numbers](ValueName name, std::int64_t value) {
    if (value == MEGASCOPE_NOWHERE) return;
    if (value >= 0 && value <= MEGASCOPE_MAX_INDEX)
      numbers.all[numbers.count++] = {name, value};
    else
      hooks::refuse(LossCause::kRefused,
                    "megascope_region_enter_at: a member of megascope_where is not 0 to 2147483647 "
                    "or MEGASCOPE_NOWHERE; the region is recorded without it");
  };
  add(ValueName::kMicroBatch, where.micro_batch);
  add(ValueName::kModelChunk, where.chunk);
  add(ValueName::kLayer, where.layer);
  return numbers;
}

megascope_region region_define(const char* name) { return hooks::region(text(name)); }
void region_enter(megascope_region region) { hooks::enter(id_of(region)); }
void region_leave(megascope_region region) { hooks::leave(id_of(region)); }
void region_enter_at(megascope_region region, const megascope_where* where) {
  if (where == nullptr) return hooks::enter(id_of(region));
  const Numbers numbers = numbers_of(*where);
  hooks::enter(id_of(region), std::span(numbers.all).first(numbers.count));
}
void step_begin(std::int64_t step) { hooks::begin_step(step); }
void step_end() { hooks::end_step(); }
megascope_counter counter_define(const char* name, const char* unit) {
  return hooks::counter(text(name), text(unit)) +
         1;  // the invalid counter is 0xFFFFFFFF in core/hooks and 0 here
}
void counter_set(megascope_counter counter, double value) {
  if (counter != MEGASCOPE_NONE) hooks::count(counter - 1, value);
}
void mark(megascope_region name) { hooks::mark(id_of(name)); }
int group_set(const char* name, int index, int size) {
  return hooks::set_place(text(name), index, size) ? 0 : -1;
}
int groups_set(const char* layout) { return hooks::set_places(text(layout)) ? 0 : -1; }
void tensor(const megascope_tensor_view* view) {
  if (hooks::wants_tensors()) show(view);
}
int wants_tensor(const char* name) {
  if (!hooks::wants_tensors()) return 0;
  return name == nullptr || hooks::wants_tensor(text(name)) ? 1 : 0;
}
int is_recording() {
  const hooks::HookThread* const thread = hooks::thread_for(hooks::kRegions);
  return thread != nullptr && !thread->is_outside ? 1 : 0;
}
int save() {
  Recorder* const recorder = hooks::recorder();
  if (recorder == nullptr) return -1;
  recorder->flush();
  return 0;
}
const char* last_error() { return hooks::last_refusal(); }
std::size_t request_poll(char* to, std::size_t size) { return hooks::poll_request(to, size); }
void reply(const char* answer) { hooks::reply(text(answer)); }

}  // namespace
}  // namespace megascope::api

// The table refers to the functions above and not to the exports below: the application's stub
// defines functions of the exported names.
#define MEGASCOPE_HOOK(type, name, parameters, arguments, absent)              \
  extern "C" [[gnu::visibility("default")]] type megascope_##name parameters { \
    return megascope::api::name arguments;                                     \
  }
#define MEGASCOPE_HOOK_WITHOUT_RESULT(name, parameters, arguments) \
  MEGASCOPE_HOOK(void, name, parameters, arguments, )
#include "plugin/api/hooks.inc"
#undef MEGASCOPE_HOOK

extern "C" {
[[gnu::visibility("default")]] extern const megascope_hooks_table megascope_hooks_v1;
#define MEGASCOPE_HOOK(type, name, ...) .name = megascope::api::name,
const megascope_hooks_table megascope_hooks_v1 = {
    .size_bytes = sizeof(megascope_hooks_table),
#include "plugin/api/hooks.inc"
};
#undef MEGASCOPE_HOOK
}

#define MEGASCOPE_HOOK(...) +1
constexpr std::size_t kHookCount = 0
#include "plugin/api/hooks.inc"
    ;
static_assert(sizeof(megascope_hooks_table) == sizeof(std::size_t) + kHookCount * sizeof(void*),
              "hooks.inc lacks a member of the table");
