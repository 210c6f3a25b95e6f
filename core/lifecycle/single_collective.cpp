#include "core/lifecycle/tree_collective.h"

namespace megascope {
namespace {

/// A tree without edges.
class SingleCollective final : public TreeCollective {
 public:
  SingleCollective() : TreeCollective(0, 1) {}

  Status split(int, int, std::unique_ptr<Collective>& result) override {
    result = make_single_collective();
    return Status::ok();
  }

 private:
  Status send(std::span<const std::byte>, int) override {
    return Status::error("there is no other rank to send to");
  }
  Status receive(Bytes&, int) override {
    return Status::error("there is no other rank to receive from");
  }
};

}  // namespace

std::unique_ptr<Collective> make_single_collective() {
  return std::make_unique<SingleCollective>();
}

}  // namespace megascope
