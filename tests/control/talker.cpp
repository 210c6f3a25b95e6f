// A program that trains nothing: it begins steps and shows tensors whose values everybody can work
// out (control_test.py does).
//   talker MODE STEPS

#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <megascope/megascope.hpp>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int g_rank = 0;
int g_size = 1;
std::string g_mode;

constexpr std::int64_t kElements = 1000;

// Exact in binary, and so are the sums of squares of a thousand of them.
double value(std::int64_t i, std::int64_t step, int salt) {
  return static_cast<double>((i * 37 + step * 11 + salt * 53) % 101 - 50) / 8.0;
}

struct Range {
  std::int64_t begin;
  std::int64_t end;
};
// Part `index` of `count`: later ones are larger; of "empty" the first has nothing.
Range part(int index, int count) {
  const auto edge = [count](std::int64_t i) {
    if (g_mode == "empty") return i <= 1 ? 0 : kElements * (i - 1) / (count - 1);
    return kElements * i * i / (static_cast<std::int64_t>(count) * count);
  };
  return {edge(index), edge(index + 1)};
}

struct Shown {
  const char* name;
  megascope_tensor_kind kind;
  int layer;
  int salt;
  int index = 0;  // part of the whole
  int count = 0;  // 0: not split
  const char* group = nullptr;
};

void show(const Shown& tensor, std::int64_t step) {
  const Range mine = tensor.count == 0 ? Range{0, kElements} : part(tensor.index, tensor.count);
  std::vector<double> values;
  for (std::int64_t i = mine.begin; i < mine.end; ++i)
    values.push_back(value(i, step, tensor.salt));
  if (g_mode == "nan" && g_rank == g_size - 1 && step == 2) {
    values[0] = std::numeric_limits<double>::quiet_NaN();
    values[1] = -std::numeric_limits<double>::infinity();
  }
  const std::int64_t shape[] = {mine.end - mine.begin};
  megascope_tensor_view view = megascope::tensor(tensor.name, tensor.kind, MEGASCOPE_FLOAT64,
                                                 values.data(), shape, 1);
  view.layer = tensor.layer;
  view.is_split = tensor.count != 0 ? 1 : 0;
  view.split_group = tensor.group;
  megascope_tensor(&view);
}

void work(std::int64_t step) {
  if (g_mode != "sleep") MPI_Barrier(MPI_COMM_WORLD);
  if (g_mode == "sleep" && g_rank == 1 && step == 3)
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
  if (g_mode == "die" && g_rank == 1 && step == 3) _exit(7);
  if (g_mode == "hidden" && g_rank == 1 && step >= 4) return;
  show({"w", MEGASCOPE_GRAD_REDUCED, 0, 0, g_rank, g_size}, step);
  if (g_mode == "both" && step == 3)
    show({"w", MEGASCOPE_GRAD_REDUCED, 0, 0}, step);  // as if it were not split
}

// 2 x 2 x 2: MEGASCOPE_PARALLEL=tp=2+dp=2+pp=2.
void cube_step(std::int64_t step) {
  const int tp = g_rank % 2;
  const int dp = g_rank / 2 % 2;
  const int pp = g_rank / 4;
  if (pp == 1)
    show({"late", MEGASCOPE_GRAD_REDUCED, 1, 7, tp, 2},
         step);  // names come in another order elsewhere
  show({"h", MEGASCOPE_GRAD_REDUCED, pp, pp, tp, 2}, step);
  show({"ln", MEGASCOPE_WEIGHT, pp, 10 + pp}, step);
  show({"x", MEGASCOPE_ACTV_OUT, pp, 20 + dp}, step);
  show({"g", MEGASCOPE_GRAD_UNREDUCED, pp, 30 + dp, tp, 2}, step);
  show({"wte", MEGASCOPE_WEIGHT, MEGASCOPE_NOWHERE, 40 + pp, tp, 2},
       step);  // of both ends of the pipeline; that of the first counts
  show({"zero", MEGASCOPE_EXP_AVG, pp, 50, dp, 2, "dp"}, step);
}

void many_step(std::int64_t step) {
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "t" + std::to_string(i);
    const double one = static_cast<double>(step);
    megascope_tensor_view view = megascope::tensor(name.c_str(), MEGASCOPE_WEIGHT,
                                                   MEGASCOPE_FLOAT64, &one, nullptr, 0);
    megascope_tensor(&view);
  }
}

void step(std::int64_t number) {
  const megascope::Step in_step(number);
  if (g_mode == "cube") return cube_step(number);
  if (g_mode == "many") return many_step(number);
  work(number);
}

// An operator of the program, which begins a step where nothing may be sent.
void begins_step(void*, void*, int*, MPI_Datatype*) { megascope_step_begin(1000); }

int level_wanted() {
  if (g_mode == "multiple") return MPI_THREAD_MULTIPLE;
  return g_mode == "serialized" ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
}

void report_places() {
  if (g_mode == "disagree") megascope_group_set("tp", g_rank, g_rank == 0 ? g_size : g_size + 1);
  if (g_mode == "twice") megascope_group_set("tp", 0, g_size);
  if (g_mode == "product") megascope_group_set("tp", 0, g_size + 1);
  if (g_mode == "names") megascope_group_set(g_rank < g_size / 2 ? "tp" : "dp", g_rank, g_size);
  if (g_mode == "nogroup") megascope_group_set("dp", g_rank, g_size);
}

void run(std::int64_t steps) {
  std::int64_t mine = steps;
  if (g_mode == "fewer" && g_rank == 1) mine = steps / 2;
  for (std::int64_t number = 0; number < mine; ++number) {
    if (g_mode == "back" && g_rank == 1 && number == 4) megascope_step_begin(2);
    const bool is_odd_one = g_rank == 1 && number % 2 == 1;
    if (g_mode == "some" && is_odd_one)
      work(number);
    else if (g_mode == "backall" && number == 4)
      step(2);
    else if (g_mode == "skip")
      step(10 * number + 5);
    else
      step(number);
    if (g_mode == "callback" && number == 2) {
      MPI_Op op;
      MPI_Op_create(&begins_step, 1, &op);
      int in = 1;
      int out = 0;
      MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
      MPI_Op_free(&op);
    }
  }
  for (std::int64_t number = mine; number < steps; ++number) work(number);
}

}  // namespace

int main(int argc, char** argv) {
  g_mode = argc > 1 ? argv[1] : "";
  const std::int64_t steps = argc > 2 ? std::atoll(argv[2]) : 8;
  if (g_mode == "early") megascope_step_begin(0);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level_wanted(), &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  if (provided != level_wanted()) std::fprintf(stderr, "another thread level is given\n");
  report_places();
  if (g_mode == "thread" || g_mode == "multiple") {
    // FUNNELED: this thread calls MPI itself, so the steps' own calls stay with the main one.
    std::thread other([&] {
      for (std::int64_t number = 0; number < steps; ++number) {
        const megascope::Step in_step(number);
        show({"w", MEGASCOPE_GRAD_REDUCED, 0, 0, g_rank, g_size}, number);
      }
    });
    other.join();
  } else {
    run(steps);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("done\n");
  std::fflush(stdout);
  if (g_mode == "late" && g_rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  MPI_Finalize();
  megascope_step_begin(steps + 1000);
  return 0;
}
