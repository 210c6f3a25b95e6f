// NVTX as C++ has it: scopes, domains by type, registered strings, categories, payloads, functions;
// an exception passes through.
#include <cstdio>
#include <nvtx3/nvtx3.hpp>
#include <stdexcept>

struct solver_domain {
  static constexpr char const* name{"solver"};
};
struct setup_message {
  static constexpr char const* message{"set up"};
};
struct numerics_category {
  static constexpr char const* name{"numerics"};
  static constexpr nvtx3::category::id_type id{7};
};

static void solve(int step) {
  NVTX3_FUNC_RANGE_IN(solver_domain);
  const nvtx3::scoped_range_in<solver_domain> set_up{
      nvtx3::registered_string_in<solver_domain>::get<setup_message>(), nvtx3::rgb{127, 255, 0},
      nvtx3::payload{static_cast<float>(step) + 0.25F},
      nvtx3::named_category_in<solver_domain>::get<numerics_category>()};
  nvtx3::mark_in<solver_domain>("converged");
  throw std::runtime_error("left");
}

int main() {
  for (int step = 0; step < 3; ++step) {
    const nvtx3::scoped_range outer{"step of the program", nvtx3::payload{std::uint64_t{1} << 63}};
    const nvtx3::unique_range overlap{L"overlap"};
    try {
      solve(step);
    } catch (const std::runtime_error&) {
    }
  }
  std::puts("done");
  return 0;
}
