// Tensors, groups and scopes: hooks as C++ has them, with MPI.
//   shown [MODE]   MODE: groups, disagree, tensors, bad, exceptions

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <megascope/megascope.hpp>
#include <megascope/megascope_mpi.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int g_rank = 0;
int g_size = 1;

void annotate_groups() {
  MPI_Comm tp = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, g_rank, &tp);
  if (megascope_group_comm("tp", tp) != 0) std::abort();
  if (megascope_group_comm("none", MPI_COMM_NULL) != -1) std::abort();
  MPI_Comm_free(&tp);
  if (megascope_group_set("dp", g_rank / 2, g_size / 2) != 0) std::abort();
}

void step(int number) {
  static const megascope::Name kForward("forward");
  const megascope::Step in_step(number);
  const megascope::Region in_region(kForward,
                                    megascope::Where().of_micro_batch(number).of_chunk(1));
  MPI_Barrier(MPI_COMM_WORLD);
}

void show_tensors() {
  const megascope::Step in_step(0);
  std::printf("wants %d %d %d\n", megascope_wants_tensor("h.weight"),
              megascope_wants_tensor("other"), megascope_wants_tensor(nullptr));
  std::vector<float> memory(64);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  memory[5] = std::numeric_limits<float>::quiet_NaN();
  memory[6] = std::numeric_limits<float>::infinity();
  const std::int64_t shape[] = {4, 8};
  megascope_tensor_view view = megascope::tensor("h.weight", MEGASCOPE_WEIGHT, MEGASCOPE_FLOAT32,
                                                 memory.data(), shape, 2);
  view.layer = 3;
  megascope_tensor(&view);
  const std::int64_t strides[] = {-8, 2};  // from the last row up, every other column
  const std::int64_t half[] = {2, 4};
  view = megascope::tensor("h.grad", MEGASCOPE_GRAD_REDUCED, MEGASCOPE_FLOAT32, memory.data() + 24,
                           half, 2);
  view.strides = strides;
  view.is_split = 1;
  view.split_dimension = 1;
  view.blocks[0] = 2;
  view.blocks[1] = 1;
  view.blocks[2] = 1;
  megascope_tensor(&view);
  view = megascope::tensor("scalar", MEGASCOPE_OTHER, MEGASCOPE_FLOAT64, nullptr, nullptr, 0);
  const double loss = 2.5;
  view.data = &loss;
  megascope_tensor(&view);
  const std::int64_t none[] = {0, 7};
  view = megascope::tensor("empty", MEGASCOPE_OTHER, MEGASCOPE_INT32, nullptr, none, 2);
  megascope_tensor(&view);
}

// Each is refused: fourteen of them.
void show_bad() {
  const std::int64_t shape[] = {4};
  float values[4] = {};
  const auto good = megascope::tensor("bad", MEGASCOPE_WEIGHT, MEGASCOPE_FLOAT32, values, shape, 1);
  const auto with = [&good](auto change) {
    megascope_tensor_view view = good;
    change(view);
    megascope_tensor(&view);
  };
  megascope_tensor(nullptr);
  with([](auto& view) { view.size_bytes = 8; });
  with([](auto& view) { view.name = nullptr; });
  with([](auto& view) { view.name = ""; });
  with([](auto& view) { view.kind = 12; });
  with([](auto& view) { view.dtype = -1; });
  with([](auto& view) { view.dimensions = 9; });
  with([](auto& view) { view.data = nullptr; });
  with([](auto& view) { view.shape[0] = -4; });
  with([](auto& view) { view.shape[0] = std::int64_t{1} << 62; });
  const std::int64_t far[] = {std::int64_t{1} << 60};
  with([&far](auto& view) { view.strides = far; });
  const std::int64_t apart[] = {std::int64_t{1} << 40,
                                std::int64_t{1} << 40};  // each for itself could be
  with([&apart](auto& view) {
    view.dimensions = 2, view.shape[0] = view.shape[1] = std::int64_t{1} << 24,
    view.strides = apart;
  });
  with([](auto& view) { view.is_split = 1, view.split_dimension = 1; });
  with([](auto& view) { view.blocks[0] = -1; });
}

void throw_through_scopes() {
  static const megascope::Name kInner("inner");
  for (int i = 0; i < 3; ++i) {
    try {
      const megascope::Step in_step(i);
      const megascope::Region in_region(kInner);
      throw std::runtime_error("left");
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "groups") annotate_groups();
  if (mode == "disagree") megascope_group_set("tp", 0, g_rank + 1);
  if (mode == "tensors") show_tensors();
  if (mode == "bad") show_bad();
  if (mode == "exceptions") throw_through_scopes();
  for (int number = 10; number < 18; ++number) step(number);
  MPI_Finalize();
  return 0;
}
