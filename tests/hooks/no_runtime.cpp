#include "tests/hooks/no_runtime.h"

#include "core/lifecycle/runtime.h"

namespace megascope {

std::vector<std::string> complaints;

namespace {

/// No code begins a recording by itself in tests.
class NoRuntime final : public Runtime {
 public:
  bool prepare(ItemReader) override { return false; }
  bool uses_tsc() const override { return false; }
  std::string clock_domain() const override { return {}; }
  double sync_interval_s() const override { return 0; }
  bool is_presence_asserted() const override { return false; }
  bool wants_call_sites() const override { return false; }
  ControlPlan control_plan() const override { return {}; }
  const std::string& own_run_id() const override { return name_; }
  Recorder* begin(const StartFacts&, const std::vector<RegionDefinition>&) override {
    return nullptr;
  }
  void end(Collective*, const PeerPresence&) override {}
  void hook_called() override {}
  void aborting() override {}
  void complain(const std::string& message) override { complaints.push_back(message); }

 private:
  std::string name_;
};

}  // namespace

Runtime& runtime() {
  static NoRuntime none;
  return none;
}

}  // namespace megascope
