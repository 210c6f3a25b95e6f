// A GPT that trains over MPI: README.md says how it is split, observe.h where it can be watched.
//
//   mpirun -n 4 megascope-gpt --tp 2 --pp 2 --steps 100 --generate "The GNU "

#include "checkpoint.h"
#include "generation.h"
#include "matmul.h"
#include "refusal.h"
#include "tasks.h"

#include <mpi.h>

#include <cstdio>

namespace gpt {

namespace {

void generate(const Settings& settings, const GridCoordinates& coordinates, Pipeline& pipeline) {
  Generation generation({settings.prompt}, settings.tokens,
                        {.temperature = settings.temperature, .seed = settings.seed});
  while (!generation.is_done()) {
    const observe::Region region(observe::kGenerate);
    generation.next(settings.model, pipeline);
  }
  const std::string text = generation.texts().front() + "\n";
  if (!coordinates.is_world_first) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void run(const Settings& settings) {
  set_up_multiply();
  const GridCoordinates coordinates(settings);
  Pipeline pipeline(settings, coordinates);
  const int first = settings.load.empty()
                        ? 0
                        : load_checkpoint(settings.load, coordinates, pipeline.buckets());
  train(first, settings, coordinates, pipeline);
  if (!settings.checkpoint.empty())
    write_checkpoint(settings.checkpoint,
                     {.model = settings.model, .step = std::max(first, settings.steps)},
                     coordinates, pipeline.buckets());
  if (settings.is_generating) generate(settings, coordinates, pipeline);
  if (settings.serve_s > 0) serve(std::max(first, settings.steps), settings, coordinates, pipeline);
}

int run_program(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    std::string help;
    const Settings settings = read_settings(argc, argv, help);
    if (help.empty())
      run(settings);
    else if (rank == 0)
      std::printf("%s", help.c_str());
    return 0;
  } catch (const Refusal& refusal) {
    if (rank == 0) std::fprintf(stderr, "megascope-gpt: %s\n", refusal.what());
    return 2;
  }
}

}  // namespace

}  // namespace gpt

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int exit_code = gpt::run_program(argc, argv);
  MPI_Finalize();
  return exit_code;
}
