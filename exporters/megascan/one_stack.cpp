#include "exporters/megascan/one_stack.h"

#include <algorithm>
#include <tuple>

namespace megascope::megascan {
namespace {

bool is_later(const Slice& a, const Slice& b) {
  return std::tuple(a.begin_ns, ~a.end_ns, a.index) > std::tuple(b.begin_ns, ~b.end_ns, b.index);
}

/// Slices in order of begin, enclosing slices first.
class Waiting {
 public:
  explicit Waiting(std::vector<Slice> slices) : heap_(std::move(slices)) {
    std::ranges::make_heap(heap_, is_later);
  }

  bool is_empty() const { return heap_.empty(); }
  Slice take() {
    std::ranges::pop_heap(heap_, is_later);
    const Slice slice = heap_.back();
    heap_.pop_back();
    return slice;
  }
  void put(const Slice& slice) {
    heap_.push_back(slice);
    std::ranges::push_heap(heap_, is_later);
  }

 private:
  std::vector<Slice> heap_;
};

}  // namespace

void put_on_one_stack(std::vector<Slice> slices, const std::function<void(const Slice&)>& enter,
                      const std::function<void(const Slice&)>& leave) {
  Waiting waiting(std::move(slices));
  std::vector<Slice> open;
  const auto close = [&] {
    leave(open.back());
    open.pop_back();
  };
  while (!waiting.is_empty()) {
    Slice next = waiting.take();
    while (!open.empty() && open.back().end_ns <= next.begin_ns) close();
    if (open.empty() || next.end_ns <= open.back().end_ns) {
      enter(next);
      open.push_back(next);
      continue;
    }
    Slice& innermost = open.back();
    if (next.is_work && !innermost.is_work) {
      innermost.end_ns = next.begin_ns;
    } else {
      next.begin_ns = innermost.end_ns;
    }
    waiting.put(next);
  }
  while (!open.empty()) close();
}

}  // namespace megascope::megascan
