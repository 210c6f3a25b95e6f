#include "analysis/import/open_operations.h"

namespace megascope::importer {

void OpenOperations::begin(const Operation& operation, std::int64_t begin_ns, std::size_t event) {
  OfName& of_name = names_[operation.name];
  const bool is_copy = !of_name.slots.empty() &&
                       slots_[of_name.slots.back()].open.begin_ns == begin_ns;
  if (is_copy) slots_[of_name.slots.back()].open.is_copy = true;
  of_name.slots.push_back(slots_.size());
  slots_.push_back({{operation, begin_ns, event, is_copy}});
  slots_.back().open.operation.is_pair = true;
  ++open_count_;
}

OpenOperations::Found OpenOperations::end(std::uint32_t name, std::int64_t end_ns, Open& ended) {
  const auto found = names_.find(name);
  if (found == names_.end()) return Found::kNothing;
  OfName& of_name = found->second;
  if (of_name.slots.empty()) return of_name.last_end_ns == end_ns ? Found::kCopy : Found::kNothing;
  close(of_name.slots.back(), end_ns, ended);
  return Found::kBegin;
}

OpenOperations::Found OpenOperations::end(std::int64_t end_ns, Open& ended) {
  if (slots_.empty()) return Found::kNothing;
  close(slots_.size() - 1, end_ns, ended);
  return Found::kBegin;
}

/// The slot is the last of its name: names end innermost first, and so does the whole.
void OpenOperations::close(std::size_t slot, std::int64_t end_ns, Open& ended) {
  slots_[slot].is_closed = true;
  --open_count_;
  ended = slots_[slot].open;
  OfName& of_name = names_[ended.operation.name];
  of_name.slots.pop_back();
  of_name.last_end_ns = end_ns;
  while (!slots_.empty() && slots_.back().is_closed) slots_.pop_back();
}

void OpenOperations::take_rest(const std::function<void(const Open&)>& take) {
  for (const Slot& slot : slots_) {
    if (!slot.is_closed) take(slot.open);
  }
  slots_.clear();
  names_.clear();
  open_count_ = 0;
}

}  // namespace megascope::importer
