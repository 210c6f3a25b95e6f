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
namespace api = megascope::api;
#define MEGASCOPE_HOOK extern "C" [[gnu::visibility("default")]]

MEGASCOPE_HOOK megascope_region megascope_region_define(const char* name) {
  return api::region_define(name);
}
MEGASCOPE_HOOK void megascope_region_enter(megascope_region region) { api::region_enter(region); }
MEGASCOPE_HOOK void megascope_region_leave(megascope_region region) { api::region_leave(region); }
MEGASCOPE_HOOK void megascope_region_enter_at(megascope_region region,
                                              const megascope_where* where) {
  api::region_enter_at(region, where);
}
MEGASCOPE_HOOK void megascope_step_begin(int64_t step) { api::step_begin(step); }
MEGASCOPE_HOOK void megascope_step_end() { api::step_end(); }
MEGASCOPE_HOOK megascope_counter megascope_counter_define(const char* name, const char* unit) {
  return api::counter_define(name, unit);
}
MEGASCOPE_HOOK void megascope_counter_set(megascope_counter counter, double value) {
  api::counter_set(counter, value);
}
MEGASCOPE_HOOK void megascope_mark(megascope_region name) { api::mark(name); }
MEGASCOPE_HOOK int megascope_group_set(const char* name, int index, int size) {
  return api::group_set(name, index, size);
}
MEGASCOPE_HOOK int megascope_groups_set(const char* layout) { return api::groups_set(layout); }
MEGASCOPE_HOOK void megascope_tensor(const megascope_tensor_view* view) { api::tensor(view); }
MEGASCOPE_HOOK int megascope_wants_tensor(const char* name) { return api::wants_tensor(name); }
MEGASCOPE_HOOK int megascope_is_recording() { return api::is_recording(); }
MEGASCOPE_HOOK int megascope_save() { return api::save(); }
MEGASCOPE_HOOK const char* megascope_last_error() { return api::last_error(); }
MEGASCOPE_HOOK size_t megascope_request_poll(char* text, size_t size) {
  return api::request_poll(text, size);
}
MEGASCOPE_HOOK void megascope_reply(const char* text) { api::reply(text); }

extern "C" {
[[gnu::visibility("default")]] extern const megascope_hooks_table megascope_hooks_v1;
const megascope_hooks_table megascope_hooks_v1 = {
    .size_bytes = sizeof(megascope_hooks_table),
    .region_define = api::region_define,
    .region_enter = api::region_enter,
    .region_leave = api::region_leave,
    .region_enter_at = api::region_enter_at,
    .step_begin = api::step_begin,
    .step_end = api::step_end,
    .counter_define = api::counter_define,
    .counter_set = api::counter_set,
    .mark = api::mark,
    .group_set = api::group_set,
    .groups_set = api::groups_set,
    .tensor = api::tensor,
    .is_recording = api::is_recording,
    .save = api::save,
    .last_error = api::last_error,
    .wants_tensor = api::wants_tensor,
    .request_poll = api::request_poll,
    .reply = api::reply,
};
}
