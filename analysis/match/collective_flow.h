#pragma once

#include "analysis/match/match.h"

namespace megascope::analysis {

/// Who needs whom in a collective.
enum class Flow : std::uint8_t {
  kNone,      ///< not known: neighbourhoods
  kAll,       ///< each needs all others (of an intercommunicator: all of the other group)
  kFromRoot,  ///< each needs the root
  kToRoot,    ///< the root needs each
  kPrefix,    ///< each needs those of lower rank
  kPerhaps,   ///< libraries may make all wait for all: making of communicators, windows and files
};
Flow flow_of(const FunctionTable::Function& function);

/// No rank leaves before those entered that he needs; else, of something empty perhaps, that is not
/// certain.
bool is_binding(const FunctionTable::Function& function, const CollectiveEnd& member);

/// Whom the members of one collective need: of those, who entered last. Pointers into the
/// collective.
class LastNeeded {
 public:
  LastNeeded(const Collective& collective, Flow flow, bool has_groups);
  /// nullptr: no rank.
  const CollectiveEnd* of(const CollectiveEnd& member) const;

 private:
  bool is_beside(const CollectiveEnd& a, const CollectiveEnd& b) const {
    return has_groups_ && a.is_second_group == b.is_second_group;
  }
  std::span<const CollectiveEnd> members_;
  Flow flow_;
  bool has_groups_;
  const CollectiveEnd* all_ = nullptr;
  const CollectiveEnd* of_group_[2] = {nullptr, nullptr};
  const CollectiveEnd* root_ = nullptr;
  const CollectiveEnd* others_ = nullptr;  ///< but the root
};

}  // namespace megascope::analysis
