#include "tests/hooks/no_runtime.h"

#include "core/lifecycle/runtime.h"

namespace megascope {

std::vector<std::string> complaints;

namespace {

/// No code begins a recording by itself in tests.
class NoRuntime final : public Runtime {
 public:
  NoRuntime() { settings_.uses_tsc = false; }
  bool prepare(ItemReader) override { return false; }
  const RunSettings& settings() const override { return settings_; }
  Recorder* begin(const StartFacts&, const std::vector<RegionDefinition>&) override {
    return nullptr;
  }
  void end(Collective*, const PeerPresence&) override {}
  void hook_called() override {}
  void aborting() override {}
  void complain(const std::string& message) override { complaints.push_back(message); }

 private:
  RunSettings settings_;
};

}  // namespace

Runtime& runtime() {
  static NoRuntime none;
  return none;
}

}  // namespace megascope
