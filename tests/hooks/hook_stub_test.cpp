// libmegascope_hooks.a with a library of another version. This program exports the table that the
// stub looks up. MEGASCOPE_TEST_OLDER: the library knows the entries up to `tensor` only, and its
// size ends in the middle of the next entry. Else: it knows all entries of the header and one that
// the stub does not know.
#include "plugin/api/megascope/megascope.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace {

int g_calls = 0;
int g_calls_beyond = 0;  ///< of entries that lie outside of the table's size

struct LaterTable {
  megascope_hooks_table known;
  void (*later)();
};

void nothing_more() { ++g_calls_beyond; }
int yes() {
#ifdef MEGASCOPE_TEST_OLDER
  ++g_calls_beyond;
#endif
  return 1;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const LaterTable megascope_hooks_v1;
const LaterTable megascope_hooks_v1 = {
    .known = {
#ifdef MEGASCOPE_TEST_OLDER
        .size_bytes = offsetof(megascope_hooks_table, is_recording) + 4,
#else
        .size_bytes = sizeof(LaterTable),
#endif
        .region_define = [](const char*) -> megascope_region { return 1234; },
        .region_enter = [](megascope_region region) { g_calls += region == 1234 ? 1 : 0; },
        .region_leave = [](megascope_region region) { g_calls += region == 1234 ? 10 : 0; },
        .region_enter_at = [](megascope_region, const megascope_where*) {},
        .step_begin = [](int64_t step) { g_calls += step == 7 ? 100 : 0; },
        .step_end = [] {},
        .counter_define = [](const char*, const char*) -> megascope_counter { return 5; },
        .counter_set = [](megascope_counter, double) {},
        .mark = [](megascope_region) {},
        .group_set = [](const char*, int, int) { return 0; },
        .groups_set = [](const char*) { return 0; },
        .tensor = [](const megascope_tensor_view*) { g_calls += 1000; },
        .is_recording = yes,
        .save = yes,
        .last_error = [] { return "an error"; },
        .wants_tensor = [](const char*) { return yes(); },
        .request_poll = [](char*, size_t) -> size_t { return yes() != 0 ? 3 : 0; },
        .reply = [](const char*) { (void)yes(); },
    },
    .later = nothing_more,
};
}

namespace {

TEST(HookStub, CallsTheFunctionsThatBothVersionsKnow) {
  g_calls = 0;
  EXPECT_EQ(megascope_region_define("a"), 1234u);
  megascope_region_enter(1234);
  megascope_region_leave(1234);
  megascope_step_begin(7);
  megascope_tensor(nullptr);
  EXPECT_EQ(g_calls, 1111);
  EXPECT_EQ(megascope_counter_define("c", nullptr), 5u);
  EXPECT_EQ(megascope_group_set("tp", 0, 1), 0);
}

#ifdef MEGASCOPE_TEST_OLDER
TEST(HookStub, DoesNothingForFunctionsThatAnOlderLibraryLacks) {
  char text[8] = "unset";
  EXPECT_EQ(megascope_is_recording(), 0);
  EXPECT_EQ(megascope_save(), -1);
  EXPECT_STREQ(megascope_last_error(), "");
  EXPECT_EQ(megascope_wants_tensor("a"), 0);
  EXPECT_EQ(megascope_request_poll(text, sizeof text), 0u);
  EXPECT_STREQ(text, "unset");
  megascope_reply("{}");
  EXPECT_EQ(g_calls_beyond, 0);
}
#else
TEST(HookStub, CallsAllItsFunctionsInANewerLibrary) {
  char text[8] = "";
  EXPECT_EQ(megascope_is_recording(), 1);
  EXPECT_EQ(megascope_save(), 1);
  EXPECT_STREQ(megascope_last_error(), "an error");
  EXPECT_EQ(megascope_wants_tensor("a"), 1);
  EXPECT_EQ(megascope_request_poll(text, sizeof text), 3u);
  EXPECT_EQ(g_calls_beyond, 0);
}
#endif

}  // namespace
