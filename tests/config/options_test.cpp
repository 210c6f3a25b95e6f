#include "core/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace megascope::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

LoadedOptions load(const std::vector<std::string>& environment) {
  return load_options(environment);
}

TEST(Options, AreTheDefaultsWhenNothingIsSet) {
  const LoadedOptions loaded = load({});
  EXPECT_TRUE(loaded.values.enable);
  EXPECT_EQ(loaded.values.out, "");
  EXPECT_EQ(loaded.values.scratch, "");
  EXPECT_EQ(loaded.values.buffer_size_bytes, 1073741824u);
  EXPECT_EQ(loaded.values.buffer_policy, BufferPolicy::kStop);
  EXPECT_THAT(loaded.values.exports, IsEmpty());
  EXPECT_EQ(loaded.values.clock, ClockChoice::kAuto);
  EXPECT_EQ(loaded.values.sync_interval.value, 10.0);
  EXPECT_THAT(loaded.values.test_clock.items, IsEmpty());
  EXPECT_FALSE(loaded.values.all_ranks);
  EXPECT_EQ(loaded.values.report, ReportStyle::kFull);
  EXPECT_FALSE(loaded.values.strict);
  EXPECT_FALSE(loaded.values.verbose);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_THAT(loaded.sources, ::testing::Each(OptionSource::kDefault));
}

TEST(Options, AreReadFromTheEnvironment) {
  const LoadedOptions loaded = load({"PATH=/bin",
                                     "MEGASCOPE_ENABLE=off",
                                     "MEGASCOPE_OUT=a b=c",
                                     "MEGASCOPE_SCRATCH=/x",
                                     "MEGASCOPE_BUFFER_SIZE=1.5M",
                                     "MEGASCOPE_BUFFER_POLICY=Flight",
                                     "MEGASCOPE_EXPORT=otf2",
                                     "MEGASCOPE_CLOCK=monotonic",
                                     "MEGASCOPE_ALL_RANKS=yes",
                                     "MEGASCOPE_REPORT=short",
                                     "MEGASCOPE_STRICT=1",
                                     "MEGASCOPE_VERBOSE=true",
                                     "MEGASCOPE_MPI=-MPI_Iprobe+coll",
                                     "MEGASCOPE_CALLSITE=1",
                                     "MEGASCOPE_CPU_TIME=0",
                                     "MEGASCOPE_SYNC_INTERVAL=0.5",
                                     "MEGASCOPE_TEST_CLOCK=1/5/-2+3/4/5/6",
                                     "MEGASCOPE_TRACE=full",
                                     "MEGASCOPE_STEP_START=100",
                                     "MEGASCOPE_STEP_INTERVAL= 50",
                                     "MEGASCOPE_STEP_COUNT=3",
                                     "MEGASCOPE_PARALLEL=tp=2,pp=4:order=tp-pp",
                                     "MEGASCOPE_TENSORS=*.weight+loss",
                                     "MEGASCOPE_WITHOUT_MPI=on",
                                     "MEGASCOPE_CONTROL=off",
                                     "MEGASCOPE_STEP_WAIT=0.25",
                                     "MEGASCOPE_NAN_STEPS=5",
                                     "MEGASCOPE_LIVE=0",
                                     "MEGASCOPE_LIVE_HOSTS=login,proxy",
                                     "MEGASCOPE_LIVE_COMPAT=5000",
                                     "MEGASCOPE_LIVE_CONTROL=allow",
                                     "MEGASCOPE_LIVE_VECTORS=vectors",
                                     "MEGASCOPE_LIVE_GUEST_RATE=1M",
                                     "MEGASCOPE_LIVE_GUEST_CPU=7",
                                     "MEGASCOPE_OTF2_INTERCOMM=comm"});
  EXPECT_FALSE(loaded.values.enable);
  EXPECT_EQ(loaded.values.out, "a b=c");
  EXPECT_EQ(loaded.values.scratch, "/x");
  EXPECT_EQ(loaded.values.buffer_size_bytes, 1572864u);
  EXPECT_EQ(loaded.values.buffer_policy, BufferPolicy::kFlight);
  EXPECT_THAT(loaded.values.exports, ElementsAre("otf2"));
  EXPECT_EQ(loaded.values.clock, ClockChoice::kMonotonic);
  EXPECT_THAT(loaded.values.mpi.items, ElementsAre("-MPI_Iprobe", "coll"));
  EXPECT_EQ(loaded.values.sync_interval.value, 0.5);
  EXPECT_EQ(loaded.values.trace, Granularity::kFull);
  EXPECT_EQ(loaded.values.step_start.value, 100u);
  EXPECT_EQ(loaded.values.step_interval.value, 50u);
  EXPECT_EQ(loaded.values.step_count.value, 3u);
  EXPECT_THAT(loaded.values.parallel.items, ElementsAre("tp=2", "pp=4", "order=tp-pp"));
  EXPECT_THAT(loaded.values.tensors.items, ElementsAre("*.weight", "loss"));
  EXPECT_TRUE(loaded.values.without_mpi);
  EXPECT_EQ(loaded.values.control, Control::kOff);
  EXPECT_EQ(loaded.values.step_wait.value, 0.25);
  EXPECT_EQ(loaded.values.nan_steps.value, 5u);
  EXPECT_TRUE(loaded.values.live.is_on);
  EXPECT_EQ(loaded.values.live.port, 0);
  EXPECT_THAT(loaded.values.live_hosts.items, ElementsAre("login", "proxy"));
  EXPECT_EQ(loaded.values.live_compat.port, 5000);
  EXPECT_EQ(loaded.values.live_control, LiveControl::kAllow);
  EXPECT_EQ(loaded.values.live_vectors, "vectors");
  EXPECT_EQ(loaded.values.live_unauthenticated_rate, 1048576U);
  EXPECT_EQ(loaded.values.live_unauthenticated_cpu.value, 7U);
  EXPECT_EQ(loaded.values.otf2_intercomm, Otf2Intercomm::kComm);
  EXPECT_THAT(loaded.values.test_clock.items, ElementsAre("1/5/-2", "3/4/5/6"));
  EXPECT_FALSE(loaded.values.cpu_time);
  EXPECT_TRUE(loaded.values.all_ranks);
  EXPECT_EQ(loaded.values.report, ReportStyle::kShort);
  EXPECT_TRUE(loaded.values.strict);
  EXPECT_TRUE(loaded.values.verbose);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_FALSE(loaded.is_refused());
  EXPECT_THAT(loaded.sources, ::testing::Each(OptionSource::kEnvironment));
}

TEST(Options, ReadSecondsWithinTheirBounds) {
  EXPECT_EQ(load({"MEGASCOPE_SYNC_INTERVAL=0"}).values.sync_interval.value, 0.0);
  EXPECT_EQ(load({"MEGASCOPE_SYNC_INTERVAL= 2.5 "}).values.sync_interval.value, 2.5);
  for (const char* bad : {"-1", "nan", "inf", "1e300", "2 s", "soon", "86401"}) {
    const LoadedOptions loaded = load({std::string("MEGASCOPE_SYNC_INTERVAL=") + bad});
    EXPECT_EQ(loaded.values.sync_interval.value, 10.0) << bad;
    EXPECT_EQ(loaded.problems.size(), 1u) << bad;
  }
}

TEST(Options, ReadWholeNumbersWithinTheirBounds) {
  for (const char* bad : {"0", "-1", "1.5", "1k", "x", "99999999999999999999", "1 2"}) {
    const LoadedOptions loaded = load({std::string("MEGASCOPE_STEP_INTERVAL=") + bad});
    EXPECT_EQ(loaded.values.step_interval.value, 1u) << bad;
    EXPECT_THAT(loaded.problems, ElementsAre(HasSubstr("a whole number from 1, unlimited"))) << bad;
  }
  EXPECT_EQ(load({"MEGASCOPE_STEP_START=0"}).values.step_start.value, 0u);
}

TEST(Options, AcceptCommaPlusAndColonInLists) {
  for (const char* list : {"otf2,chrome", "otf2+chrome", "otf2:chrome", " OTF2 ,, chrome+otf2:"}) {
    EXPECT_THAT(load({std::string("MEGASCOPE_EXPORT=") + list}).values.exports,
                ElementsAre("otf2", "chrome"))
        << list;
  }
}

TEST(Options, NameABadValueWhatIsAcceptedAndWhatIsUsedInstead) {
  const LoadedOptions loaded = load({"MEGASCOPE_BUFFER_SIZE=12Q"});
  EXPECT_EQ(loaded.values.buffer_size_bytes, 1073741824u);
  EXPECT_THAT(
      loaded.problems,
      ElementsAre("MEGASCOPE_BUFFER_SIZE=12Q: expected a size from 1 MiB to 1 TiB, or auto; the "
                  "default is used: 1G"));
  EXPECT_THAT(load({"MEGASCOPE_BUFFER_POLICY=ring"}).problems,
              ElementsAre("MEGASCOPE_BUFFER_POLICY=ring: expected one of stop, flight; the "
                          "default is used: "
                          "stop"));
}

TEST(Options, RefuseSizesOutOfRange) {
  EXPECT_EQ(load({"MEGASCOPE_BUFFER_SIZE=1048576"}).values.buffer_size_bytes, 1048576u);
  EXPECT_EQ(load({"MEGASCOPE_BUFFER_SIZE=1T"}).values.buffer_size_bytes, 1099511627776u);
  EXPECT_EQ(load({"MEGASCOPE_BUFFER_SIZE= Auto"}).values.buffer_size_bytes, 0u);
  EXPECT_TRUE(load({"MEGASCOPE_BUFFER_SIZE=auto"}).problems.empty());
  EXPECT_FALSE(load({"MEGASCOPE_LIVE_GUEST_RATE=auto"}).problems.empty())
      << "a word of one option only";
  for (const char* bad : {"1048575", "1025G", "-1G", "1e30", "inf", "nan", "0x10", "G", "1 2",
                          "99999999999999999999999"}) {
    const LoadedOptions loaded = load({std::string("MEGASCOPE_BUFFER_SIZE=") + bad});
    EXPECT_EQ(loaded.values.buffer_size_bytes, 1073741824u) << bad;
    EXPECT_EQ(loaded.problems.size(), 1u) << bad;
  }
}

TEST(Options, RefuseNoneBesideAnotherFormatAndUnknownFormats) {
  EXPECT_THAT(load({"MEGASCOPE_EXPORT=none"}).values.exports, ElementsAre("none"));
  EXPECT_EQ(load({"MEGASCOPE_EXPORT=none,otf2"}).problems.size(), 1u);
  const LoadedOptions loaded = load({"MEGASCOPE_EXPORT=otf2,paraver"});
  EXPECT_THAT(loaded.values.exports, IsEmpty());
  EXPECT_THAT(loaded.problems, ElementsAre(HasSubstr("otf2, perfetto, chrome, none")));
}

TEST(Options, SuggestTheOptionMeantForAnUnknownName) {
  EXPECT_THAT(load({"MEGASCOPE_BUFER_SIZE=1G"}).problems,
              ElementsAre("MEGASCOPE_BUFER_SIZE is not an option and is ignored: did you mean "
                          "MEGASCOPE_BUFFER_SIZE?"));
  EXPECT_THAT(load({"MEGASCOPE_EXPORTS=otf2"}).problems,
              ElementsAre(HasSubstr("did you mean MEGASCOPE_EXPORT?")));
  EXPECT_THAT(load({"MEGASCOPE_QUUX_FROBNICATE=1"}).problems,
              ElementsAre(HasSubstr("`megascope info` lists")));
  EXPECT_THAT(load({"XMEGASCOPE_OUT=1", "MEGASCOPE_WITHOUT_VALUE", ""}).problems, IsEmpty());
}

TEST(Options, TakeAnEmptyValueAsTheDefault) {
  const LoadedOptions loaded = load({"MEGASCOPE_BUFFER_SIZE=", "MEGASCOPE_ENABLE="});
  EXPECT_TRUE(loaded.values.enable);
  EXPECT_EQ(loaded.values.buffer_size_bytes, 1073741824u);
  EXPECT_THAT(loaded.problems, IsEmpty());
}

TEST(Options, TakeTheFirstOfANameGivenTwice) {
  EXPECT_EQ(load({"MEGASCOPE_OUT=first", "MEGASCOPE_OUT=second"}).values.out, "first");
}

TEST(Options, AreRefusedOnlyWhenStrictAndWrong) {
  EXPECT_FALSE(load({"MEGASCOPE_CLOCK=sundial"}).is_refused());
  EXPECT_TRUE(load({"MEGASCOPE_CLOCK=sundial", "MEGASCOPE_STRICT=1"}).is_refused());
}

TEST(Options, ShowBadValuesWithoutControlCharactersAndCutShort) {
  const LoadedOptions loaded = load({"MEGASCOPE_CLOCK=\x1b[31m" + std::string(1000, 'x')});
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_THAT(loaded.problems[0], StartsWith("MEGASCOPE_CLOCK=?[31mxxx"));
  EXPECT_LT(loaded.problems[0].size(), 250u);
}

TEST(OptionDump, SaysTheValueUsedItsDefaultAndWhy) {
  const std::string dump = dump_options_sh(load({"MEGASCOPE_OUT=it's", "MEGASCOPE_CLOCK=sundial"}));
  EXPECT_THAT(dump, HasSubstr("export MEGASCOPE_OUT='it'\\''s'\n"));
  EXPECT_THAT(
      dump, HasSubstr("# Default: auto. This value: default, because the given value is invalid.\n"
                      "export MEGASCOPE_CLOCK='auto'\n"));
  EXPECT_THAT(dump, HasSubstr("export MEGASCOPE_BUFFER_SIZE='1G'\n"));
}

TEST(OptionDump, GivesTheSameOptionsWhenSourcedByAShell) {
  const std::string value = "a'b \"$HOME\" `id` \\ ;\n#x";
  const std::string script = dump_options_sh(load({"MEGASCOPE_OUT=" + value})) +
                             "printf %s \"$MEGASCOPE_OUT\"\n";
  const std::string path = ::testing::TempDir() + "megascope_option_dump_test.sh";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fwrite(script.data(), 1, script.size(), file);
  std::fclose(file);
  std::FILE* shell = ::popen(("sh '" + path + "'").c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string printed(200, '\0');
  printed.resize(std::fread(printed.data(), 1, printed.size(), shell));
  EXPECT_EQ(::pclose(shell), 0);
  EXPECT_EQ(printed, value);
  std::remove(path.c_str());
}

TEST(OptionTable, HasForEachRowAnExampleAndADefaultThatItAccepts) {
  for (const OptionRow& row : option_rows()) {
    const std::string name(row.name);
    EXPECT_THAT(load({name + "=" + std::string(row.example)}).problems, IsEmpty()) << name;
    EXPECT_THAT(load({name + "=" + std::string(row.default_text)}).problems, IsEmpty()) << name;
    EXPECT_FALSE(row.help.empty() || default_for_people(row).empty()) << name;
    EXPECT_THAT(options_markdown(), HasSubstr("## " + name + "\n")) << name;
  }
}

}  // namespace
}  // namespace megascope::config
