#pragma once

#include "core/record/event_types.h"

#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

/// Reads the facts of calls as typed events.
///
/// events::visit(fact, handler) calls the handler with the view of the fact (event_types.h). The
/// handler has one overload for each type of AllEvents. Types that a reader does not use are listed
/// in Ignores<>. Overloads for base classes and generic overloads are refused, so that a new type
/// does not compile until each reader handles or lists it. A new FactKind does not compile until
/// dispatch() has a case for it.
///
/// @code
///   events::visit(fact, events::Handler{
///       [&](events::Send send) { bytes += send.bytes(); },
///       [&](events::Receive receive) { bytes += receive.bytes(); },
///       events::Ignores<events::PostedReceive, events::Completion, …>()});
/// @endcode
namespace megascope::events {

/// A list of types.
template <class... Types>
struct TypeList {};

/// The types that visit() passes to handlers.
using AllEvents = TypeList<Send, PostedReceive, Receive, MatchedProbe, FoundMessage, Completion,
                           RequestUse, Collective, CollectiveCompletion, CommChange, RmaOperation,
                           RmaSync, WindowUse, FileTransfer, FileUse, FileCollective, Error,
                           LocalBytes, CallSite, Value, Left>;

/// A handler made of function objects; `operator()` of all of them are overloads.
template <class... Functions>
struct Handler : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Handler(Functions...) -> Handler<Functions...>;

template <class View>
struct IgnoresOne {
  constexpr void operator()(View) const noexcept {}
};
/// The part of a handler that does nothing with the views of these types.
template <class... Views>
struct Ignores : IgnoresOne<Views>... {
  using IgnoresOne<Views>::operator()...;
};

template <class Part, class View>
struct CallsOne {
  constexpr void operator()(View view) const { static_cast<const Part&>(*this).function(view); }
};
template <class Function, class... Views>
struct Calls : CallsOne<Calls<Function, Views...>, Views>... {
  using CallsOne<Calls, Views>::operator()...;
  constexpr explicit Calls(Function to_call) : function(to_call) {}
  Function function;
};
/// Returns the part of a handler that calls one function with the views of these types.
template <class... Views, class Function>
constexpr Calls<Function, Views...> on(Function function) {
  return Calls<Function, Views...>(function);
}

/// Calls the handler with the view of the fact. Unlike visit(), accepts any handler. Facts that
/// only the encoding uses, and kinds of a newer version, are skipped.
template <class Function>
[[gnu::always_inline]] constexpr void dispatch(const Fact& fact, Function&& handler) {
  switch (fact.kind) {
    case FactKind::kSend:
    case FactKind::kSendRequest:
      handler(Send(fact));
      break;
    case FactKind::kRecvRequest:
      handler(PostedReceive(fact));
      break;
    case FactKind::kRecv:
    case FactKind::kRecvComplete:
      handler(Receive(fact));
      break;
    case FactKind::kMatched:
      handler(MatchedProbe(fact));
      break;
    case FactKind::kProbed:
    case FactKind::kRequestReady:
      handler(FoundMessage(fact));
      break;
    case FactKind::kSendComplete:
    case FactKind::kRmaComplete:
    case FactKind::kCancelled:
    case FactKind::kRequestFreed:
      handler(Completion(fact));
      break;
    case FactKind::kRequestTest:
    case FactKind::kCancelRequested:
    case FactKind::kPersistentInit:
      handler(RequestUse(fact));
      break;
    case FactKind::kCollective:
    case FactKind::kCollectiveRequest:
      handler(Collective(fact));
      break;
    case FactKind::kCollectiveComplete:
      handler(CollectiveCompletion(fact));
      break;
    case FactKind::kCommCreated:
    case FactKind::kCommFreed:
      handler(CommChange(fact));
      break;
    case FactKind::kPut:
    case FactKind::kGet:
    case FactKind::kAccumulate:
    case FactKind::kGetAccumulate:
    case FactKind::kCompareAndSwap:
    case FactKind::kRput:
    case FactKind::kRget:
    case FactKind::kRaccumulate:
    case FactKind::kRgetAccumulate:
      handler(RmaOperation(fact));
      break;
    case FactKind::kFence:
    case FactKind::kGroupSync:
    case FactKind::kLock:
    case FactKind::kUnlock:
    case FactKind::kFlush:
    case FactKind::kWinSync:
      handler(RmaSync(fact));
      break;
    case FactKind::kWinCreated:
    case FactKind::kWinFreed:
    case FactKind::kWindow:
      handler(WindowUse(fact));
      break;
    case FactKind::kFileRead:
    case FactKind::kFileWrite:
    case FactKind::kFileReadRequest:
    case FactKind::kFileWriteRequest:
    case FactKind::kFileReadComplete:
    case FactKind::kFileWriteComplete:
    case FactKind::kFileTest:
    case FactKind::kFileCancelled:
      handler(FileTransfer(fact));
      break;
    case FactKind::kFileOpened:
    case FactKind::kFileClosed:
    case FactKind::kFileDeleted:
    case FactKind::kFileSync:
    case FactKind::kFileSeek:
    case FactKind::kFileSize:
    case FactKind::kFileView:
    case FactKind::kFileUsed:
      handler(FileUse(fact));
      break;
    case FactKind::kFileCollective:
      handler(FileCollective(fact));
      break;
    case FactKind::kError:
      handler(Error(fact));
      break;
    case FactKind::kLocalBytes:
      handler(LocalBytes(fact));
      break;
    case FactKind::kCallSite:
      handler(CallSite(fact));
      break;
    case FactKind::kValue:
      handler(Value(fact));
      break;
    case FactKind::kLeft:
      handler(Left(fact));
      break;
    case FactKind::kNone:  // encoding only
    case FactKind::kDuration:
    case FactKind::kSendrecv:
    case FactKind::kRepeated:
    case FactKind::kUncertain:
      break;
  }
}

/// A type derived from a base class of events, which no handler lists. A handler that accepts it
/// would also accept event types that are added later.
template <class Base>
struct Unlisted : Base {
  using Base::Base;
};

template <class Function, class List>
inline constexpr bool kHandlesAll = false;
template <class Function, class... Views>
inline constexpr bool kHandlesAll<Function, TypeList<Views...>> =
    (std::is_invocable_v<Function, Views> && ...);
template <class Function, class... Bases>
inline constexpr bool kHandlesAnyOf = (std::is_invocable_v<Function, Unlisted<Bases>> || ...);

/// Returns whether the handler lists exactly the types of AllEvents.
template <class Function>
inline constexpr bool kIsExhaustive = kHandlesAll<Function&, AllEvents> &&
                                      !kHandlesAnyOf<Function&, Event, Message, CollectiveOperation,
                                                     OneSided, OnFile>;

/// Calls the handler with the view of the fact. Facts that only the encoding uses, and kinds of a
/// newer version, are skipped.
template <class Function>
[[gnu::always_inline]] constexpr void visit(const Fact& fact, Function&& handler) {
  static_assert(kIsExhaustive<std::remove_reference_t<Function>>,
                "the handler needs one overload for each type of AllEvents, and none for a base");
  dispatch(fact, std::forward<Function>(handler));
}

/// A set of fact kinds, as bits. of() makes the set of the kinds for which dispatch() makes a view
/// of one of the types Views.
struct KindSet {
  std::uint64_t bits[2] = {0, 0};

  template <class... Views>
  static constexpr KindSet of() {
    KindSet kinds;
    for (unsigned kind = 0; kind < 128; ++kind) {
      const Fact fact{.kind = static_cast<FactKind>(kind)};
      dispatch(fact, [&](auto view) {
        if constexpr ((std::is_same_v<decltype(view), Views> || ...))
          kinds.bits[kind / 64] |= std::uint64_t{1} << kind % 64;
      });
    }
    return kinds;
  }
  constexpr bool has(FactKind kind) const {
    const auto number = static_cast<unsigned>(kind);
    return (number < 64 && (bits[0] >> number & 1) != 0) ||
           (number >= 64 && number < 128 && (bits[1] >> (number - 64) & 1) != 0);
  }
  /// Returns the kind if the set has exactly one; else kNone.
  constexpr FactKind only() const {
    if (std::popcount(bits[0]) + std::popcount(bits[1]) != 1) return FactKind::kNone;
    return static_cast<FactKind>(bits[0] != 0 ? std::countr_zero(bits[0])
                                              : 64 + std::countr_zero(bits[1]));
  }
};

/// Returns whether the view of the fact is one of these types.
template <class... Views>
[[gnu::always_inline]] constexpr bool is_any(const Fact& fact) {
  constexpr KindSet kKinds = KindSet::of<Views...>();
  if constexpr (kKinds.only() != FactKind::kNone)
    return fact.kind == kKinds.only();
  else
    return kKinds.has(fact.kind);
}

/// An optional view, like std::optional. It has the size of a pointer, so that it fits a register.
template <class View>
class Maybe {
 public:
  constexpr Maybe() = default;
  constexpr Maybe(View view) : fact_(&view.fact()) {}
  constexpr bool has_value() const { return fact_ != nullptr; }
  constexpr explicit operator bool() const { return has_value(); }
  /// Returns the view. Call it, and operator->, only if has_value().
  constexpr View operator*() const { return View(*fact_); }
  struct Arrow {
    View view;
    constexpr const View* operator->() const { return &view; }
  };
  constexpr Arrow operator->() const { return {**this}; }

 private:
  const Fact* fact_ = nullptr;
};

/// Returns the view of the fact if it has this type; else an empty object.
template <class View>
[[gnu::always_inline]] constexpr Maybe<View> as(const Fact& fact) {
  return is_any<View>(fact) ? Maybe<View>(View(fact)) : Maybe<View>();
}

/// Returns the view of the first fact of this type; an empty object if there is no such fact.
template <class View>
constexpr Maybe<View> find(std::span<const Fact> facts) {
  for (const Fact& fact : facts) {
    if (is_any<View>(fact)) return View(fact);
  }
  return {};
}

}  // namespace megascope::events
