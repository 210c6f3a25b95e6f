#pragma once

#include "analysis/match/match.h"

namespace megascope::analysis {

/// Data dependencies between the members of a collective: which other members must have entered
/// before a member can leave. For intercommunicators only members of the other group count.
enum class Flow : std::uint8_t {
  kNone,      ///< unknown: neighbourhood collectives
  kAll,       ///< each member depends on all others
  kFromRoot,  ///< each member depends on the root
  kToRoot,    ///< the root depends on all others
  kPrefix,    ///< each member depends on the members of lower rank
  kPerhaps,   ///< MPI libraries may synchronise all members, but do not have to. Examples: creation
              ///< and freeing of communicators, windows and files
};
Flow flow_of(const FunctionTable::Function& function);

/// Returns whether a member certainly cannot leave before the members on which it depends have
/// entered. True for barriers, and for collectives with a known data flow and a known size above 0
/// bytes. An MPI library may skip the exchange of empty data.
bool is_binding(const FunctionTable::Function& function, const CollectiveEnd& member);

/// Finds for each member of one collective the latest to enter among the members on which it
/// depends. Construction: O(members). of() is O(1), for kPrefix O(members). Returned pointers point
/// into the collective, which must outlive the object.
class LastNeeded {
 public:
  LastNeeded(const Collective& collective, Flow flow, bool has_groups);
  /// Returns nullptr if the member depends on no other member. For kAll and kPerhaps the result may
  /// be the member itself.
  const CollectiveEnd* of(const CollectiveEnd& member) const;

 private:
  /// Returns whether both members belong to the same group of an intercommunicator. False for
  /// intracommunicators.
  bool is_beside(const CollectiveEnd& a, const CollectiveEnd& b) const {
    return has_groups_ && a.is_second_group == b.is_second_group;
  }
  std::span<const CollectiveEnd> members_;
  Flow flow_;
  bool has_groups_;
  const CollectiveEnd* all_ = nullptr;
  const CollectiveEnd* of_group_[2] = {nullptr, nullptr};
  const CollectiveEnd* root_ = nullptr;
  const CollectiveEnd* others_ = nullptr;  ///< latest member except the root
};

}  // namespace megascope::analysis
