#include "core/record/event_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace megascope::events {
namespace {

/// Names the type of the view that visit() passes.
struct TypeName {
  std::string name = "none";

  void operator()(Send) { name = "Send"; }
  void operator()(PostedReceive) { name = "PostedReceive"; }
  void operator()(Receive) { name = "Receive"; }
  void operator()(MatchedProbe) { name = "MatchedProbe"; }
  void operator()(FoundMessage) { name = "FoundMessage"; }
  void operator()(Completion) { name = "Completion"; }
  void operator()(RequestUse) { name = "RequestUse"; }
  void operator()(Collective) { name = "Collective"; }
  void operator()(CollectiveCompletion) { name = "CollectiveCompletion"; }
  void operator()(CommChange) { name = "CommChange"; }
  void operator()(RmaOperation) { name = "RmaOperation"; }
  void operator()(RmaSync) { name = "RmaSync"; }
  void operator()(WindowUse) { name = "WindowUse"; }
  void operator()(FileTransfer) { name = "FileTransfer"; }
  void operator()(FileUse) { name = "FileUse"; }
  void operator()(FileCollective) { name = "FileCollective"; }
  void operator()(Error) { name = "Error"; }
  void operator()(LocalBytes) { name = "LocalBytes"; }
  void operator()(CallSite) { name = "CallSite"; }
  void operator()(Value) { name = "Value"; }
  void operator()(Left) { name = "Left"; }
};

std::string type_of(const Fact& fact) {
  TypeName name;
  visit(fact, name);
  return name.name;
}

TEST(VisitEvent, PassesTheViewOfTheKind) {
  const std::map<std::string, std::vector<int>> expected = {
      {"Send", {1, 3}},
      {"PostedReceive", {4}},
      {"Receive", {2, 6}},
      {"MatchedProbe", {16}},
      {"FoundMessage", {64, 65}},
      {"Completion", {5, 7, 9, 29}},
      {"RequestUse", {8, 19, 66}},
      {"Collective", {10, 11}},
      {"CollectiveCompletion", {12}},
      {"CommChange", {13, 14}},
      {"RmaOperation", {20, 21, 22, 23, 24, 25, 26, 27, 28}},
      {"RmaSync", {32, 33, 34, 35, 36, 37}},
      {"WindowUse", {30, 31, 38}},
      {"FileTransfer", {43, 44, 45, 46, 47, 48, 49, 50}},
      {"FileUse", {40, 41, 42, 51, 52, 53, 54, 55}},
      {"FileCollective", {56}},
      {"Error", {15}},
      {"LocalBytes", {62}},
      {"CallSite", {61}},
      {"Value", {63}},
      {"Left", {59}}};
  std::array<std::string, 256> names;
  names.fill("none");  // 0, and what only the encoding uses: 17, 18, 60, 67; and unused numbers
  for (const auto& [name, kinds] : expected) {
    for (const int kind : kinds) names[static_cast<std::size_t>(kind)] = name;
  }
  for (std::size_t kind = 0; kind < names.size(); ++kind)
    EXPECT_EQ(type_of({.kind = static_cast<FactKind>(kind)}), names[kind]) << kind;
  const auto last = std::ranges::find_if(names.rbegin(), names.rend(),
                                         [](const std::string& name) { return name != "none"; });
  constexpr std::ptrdiff_t kLastOfEncoding = 67;
  EXPECT_EQ(static_cast<FactKind>(std::max(names.rend() - last - 1, kLastOfEncoding)),
            kLastFactKind);
}

using AllButLeft = Ignores<Send, PostedReceive, Receive, MatchedProbe, FoundMessage, Completion,
                           RequestUse, Collective, CollectiveCompletion, CommChange, RmaOperation,
                           RmaSync, WindowUse, FileTransfer, FileUse, FileCollective, Error,
                           LocalBytes, CallSite, Value>;

TEST(VisitEvent, CallsTheFunctionOfTheTypeAndIgnoresTheOthers) {
  int count = 0;
  const Handler handler{[&count](Left) { ++count; }, AllButLeft()};
  visit({.kind = FactKind::kLeft}, handler);
  visit({.kind = FactKind::kSend}, handler);
  visit({.kind = FactKind::kValue}, handler);
  EXPECT_EQ(count, 1);
}

// A handler compiles only if it decides about each type by itself.
struct HandlesMessages : AllButLeft, Ignores<Left> {
  using AllButLeft::operator();
  using Ignores<Left>::operator();
  void operator()(Message) const {}
};
struct HandlesFiles : AllButLeft, Ignores<Left> {
  using AllButLeft::operator();
  using Ignores<Left>::operator();
  void operator()(OnFile) const {}
};
constexpr auto kIgnoresNothing = [](auto) {};
static_assert(kIsExhaustive<TypeName>);
static_assert(kIsExhaustive<Handler<AllButLeft, Ignores<Left>>>);
static_assert(!kIsExhaustive<AllButLeft>);
static_assert(!kIsExhaustive<HandlesMessages>);
static_assert(!kIsExhaustive<HandlesFiles>);
static_assert(!kIsExhaustive<decltype(kIgnoresNothing)>);

/// Reads what the accessors with a list of kinds return, for each kind of their views. A kind that
/// an accessor does not list is no constant expression (for_no_kind()).
constexpr bool list_all_kinds() {
  for (unsigned kind = 0; kind <= value(kLastFactKind); ++kind) {
    const Fact fact{.kind = static_cast<FactKind>(kind)};
    dispatch(fact, [](auto view) {
      if constexpr (std::is_same_v<decltype(view), RmaOperation>) (void)view.operation();
      if constexpr (std::is_same_v<decltype(view), FileTransfer>) (void)view.stage();
    });
  }
  return true;
}
static_assert(list_all_kinds());

static_assert(sizeof(Send) == sizeof(void*) && sizeof(FileUse) == sizeof(void*));

TEST(AsEvent, ReturnsTheViewOnlyForItsType) {
  const Fact fact{.kind = FactKind::kRecvComplete,
                  .comm = 3,
                  .request = 9,
                  .peer = 5,
                  .tag = 77,
                  .bytes = 4096};
  EXPECT_FALSE(as<Send>(fact).has_value());
  const Maybe<Receive> receive = as<Receive>(fact);
  ASSERT_TRUE(receive.has_value());
  EXPECT_EQ(&receive->fact(), &fact);
  EXPECT_FALSE(receive->is_blocking());
  EXPECT_EQ(receive->comm(), 3U);
  EXPECT_EQ(receive->request(), 9U);
  EXPECT_EQ(receive->peer(), 5);
  EXPECT_EQ(receive->tag(), 77);
  EXPECT_EQ(receive->bytes(), 4096U);
}

TEST(FindEvent, ReturnsTheFirstOfTheType) {
  const std::vector<Fact> facts = {value_fact(ValueName::kStep, 12),
                                   {.kind = FactKind::kCallSite, .request = 8},
                                   {.kind = FactKind::kCallSite, .request = 9}};
  ASSERT_TRUE(find<CallSite>(facts).has_value());
  EXPECT_EQ(find<CallSite>(facts)->site(), 7U);
  EXPECT_EQ(find<Value>(facts)->number(), 12);
  EXPECT_EQ(find<Value>(facts)->name(), ValueName::kStep);
  EXPECT_FALSE(find<Error>(facts).has_value());
}

TEST(EventView, NamesTheFieldsOfCollectives) {
  const Fact fact{.kind = FactKind::kCollective,
                  .comm = 2,
                  .request = 4,
                  .sequence = 6,
                  .peer = 1,
                  .bytes = 80,
                  .bytes_received = 160};
  const Collective collective = *as<Collective>(fact);
  EXPECT_TRUE(collective.is_blocking());
  EXPECT_EQ(collective.comm(), 2U);
  EXPECT_EQ(collective.request(), 4U);
  EXPECT_EQ(collective.sequence(), 6U);
  EXPECT_EQ(collective.root(), 1);
  EXPECT_EQ(collective.bytes_sent(), 80U);
  EXPECT_EQ(collective.bytes_received(), 160U);
}

TEST(EventView, NamesTheFieldsOfRequests) {
  const auto way = [](FactKind kind) {
    const Fact fact{.kind = kind, .request = 11};
    EXPECT_EQ(as<Completion>(fact)->request(), 11U);
    return as<Completion>(fact)->way();
  };
  EXPECT_EQ(way(FactKind::kSendComplete), Completion::Way::kSent);
  EXPECT_EQ(way(FactKind::kRmaComplete), Completion::Way::kOneSided);
  EXPECT_EQ(way(FactKind::kCancelled), Completion::Way::kCancelled);
  EXPECT_EQ(way(FactKind::kRequestFreed), Completion::Way::kFreed);
  const Fact test{.kind = FactKind::kRequestTest, .comm = 1, .request = 5, .tag = 3, .bytes = 2};
  const RequestUse use = *as<RequestUse>(test);
  EXPECT_EQ(use.use(), RequestUse::Use::kTested);
  EXPECT_TRUE(use.is_one_sided());
  EXPECT_EQ(use.window(), 3U);
  EXPECT_EQ(use.request_count(), 2U);
}

TEST(EventView, NamesTheFieldsOfOneSidedEvents) {
  const Fact get{
      .kind = FactKind::kRget, .comm = 1, .request = 70, .peer = 3, .tag = 5, .bytes_received = 64};
  const RmaOperation operation = *as<RmaOperation>(get);
  EXPECT_EQ(operation.operation(), RmaOperation::Operation::kGet);
  EXPECT_TRUE(operation.has_mpi_request());
  EXPECT_EQ(operation.window(), 5U);
  EXPECT_EQ(operation.comm(), 1U);
  EXPECT_EQ(operation.target(), 3);
  EXPECT_EQ(operation.request(), 70U);
  EXPECT_EQ(operation.bytes_to_target(), 0U);
  EXPECT_EQ(operation.bytes_from_target(), 64U);
  const Fact swap{.kind = FactKind::kCompareAndSwap};
  EXPECT_EQ(as<RmaOperation>(swap)->operation(), RmaOperation::Operation::kCompareAndSwap);
  EXPECT_FALSE(as<RmaOperation>(swap)->has_mpi_request());

  const Fact start{
      .kind = FactKind::kGroupSync, .sequence = 8, .bytes = rma::kStart | rma::kNoCheck};
  const RmaSync sync = *as<RmaSync>(start);
  EXPECT_EQ(sync.sync(), RmaSync::Sync::kGroup);
  EXPECT_EQ(sync.group(), 8U);
  EXPECT_EQ(sync.group_function(), rma::kStart);
  EXPECT_TRUE(sync.has(rma::kNoCheck));
  EXPECT_FALSE(sync.has(rma::kNoStore));
  const Fact lock{.kind = FactKind::kLock, .peer = 2, .bytes = rma::kExclusive};
  EXPECT_EQ(as<RmaSync>(lock)->sync(), RmaSync::Sync::kLock);
  EXPECT_TRUE(as<RmaSync>(lock)->is_exclusive());
  const Fact flush{.kind = FactKind::kFlush, .bytes = 1};
  EXPECT_EQ(as<RmaSync>(flush)->sync(), RmaSync::Sync::kFlush);
  EXPECT_TRUE(as<RmaSync>(flush)->is_local_only());
  const Fact created{.kind = FactKind::kWinCreated, .sequence = 4, .bytes = 800};
  EXPECT_EQ(as<WindowUse>(created)->use(), WindowUse::Use::kCreated);
  EXPECT_EQ(as<WindowUse>(created)->sequence(), 4U);
  EXPECT_EQ(as<WindowUse>(created)->bytes(), 800U);
}

TEST(EventView, NamesTheFieldsOfFileEvents) {
  Fact write = transfer_fact(FactKind::kFileWriteComplete, /*file=*/6, /*comm=*/2,
                             {.offset = 100, .requested = 50, .is_collective = true});
  set_transferred(write, 20);
  write.request = 31;
  const FileTransfer transfer = *as<FileTransfer>(write);
  EXPECT_EQ(transfer.stage(), FileTransfer::Stage::kCompleted);
  EXPECT_TRUE(transfer.is_write());
  EXPECT_FALSE(transfer.is_start());
  EXPECT_TRUE(transfer.has_ended());
  EXPECT_EQ(transfer.file(), 6U);
  EXPECT_EQ(transfer.comm(), 2U);
  EXPECT_EQ(transfer.request(), 31U);
  EXPECT_EQ(transfer.access(), (FileAccess{.offset = 100, .requested = 50, .is_collective = true}));
  EXPECT_EQ(transfer.transferred(), 20U);
  const auto stage = [](FactKind kind) { return as<FileTransfer>({.kind = kind})->stage(); };
  EXPECT_EQ(stage(FactKind::kFileRead), FileTransfer::Stage::kBlocking);
  EXPECT_EQ(stage(FactKind::kFileReadRequest), FileTransfer::Stage::kStarted);
  EXPECT_EQ(stage(FactKind::kFileTest), FileTransfer::Stage::kTested);
  EXPECT_EQ(stage(FactKind::kFileCancelled), FileTransfer::Stage::kCancelled);

  const FileSeek seek{.asked = -4, .from = SeekFrom::kEnd, .reached = 96};
  const Fact sought = seek_fact(6, 2, seek);
  EXPECT_EQ(as<FileUse>(sought)->use(), FileUse::Use::kSeek);
  EXPECT_EQ(as<FileUse>(sought)->seek(), seek);
  const Fact sized = file_fact(FactKind::kFileSize, 6, 2, 4096);
  EXPECT_EQ(as<FileUse>(sized)->use(), FileUse::Use::kSize);
  EXPECT_EQ(as<FileUse>(sized)->size(), 4096U);

  const Fact opening{.kind = FactKind::kFileCollective, .comm = 2, .sequence = 5};
  EXPECT_FALSE(as<FileCollective>(opening)->has_file());
  EXPECT_EQ(as<FileCollective>(opening)->sequence(), 5U);
  const Fact numbered{.kind = FactKind::kFileCollective, .request = 3, .peer = 6};
  EXPECT_TRUE(as<FileCollective>(numbered)->has_file());
  EXPECT_EQ(as<FileCollective>(numbered)->file(), 6U);
  EXPECT_EQ(as<FileCollective>(numbered)->number(), 3U);
}

}  // namespace
}  // namespace megascope::events
