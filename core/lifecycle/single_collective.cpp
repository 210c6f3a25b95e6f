#include <algorithm>

#include "core/lifecycle/collective.h"

namespace megascope {
namespace {

class SingleCollective final : public Collective {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Status split(int, int, std::unique_ptr<Collective>& result) override {
    result = make_single_collective();
    return Status::ok();
  }
  Status barrier() override { return Status::ok(); }
  Status bcast(std::span<std::byte>, int) override { return Status::ok(); }
  Status gather(std::span<const std::byte> mine, Bytes& all, int) override {
    all.assign(mine.begin(), mine.end());
    return Status::ok();
  }
  Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int) override {
    parts.assign(1, Bytes(mine.begin(), mine.end()));
    return Status::ok();
  }
  Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int) override {
    if (all.size() != mine.size()) return Status::error("scatter: sizes differ");
    std::copy(all.begin(), all.end(), mine.begin());
    return Status::ok();
  }
  Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int) override {
    if (parts.size() != 1) return Status::error("scatterv: one part a member is needed");
    mine = parts.front();
    return Status::ok();
  }
  Status merge_up(Bytes&, const Merge&) override { return Status::ok(); }
  Status bcast_resized(Bytes&, int) override { return Status::ok(); }
};

}  // namespace

std::unique_ptr<Collective> make_single_collective() { return std::make_unique<SingleCollective>(); }

}  // namespace megascope
