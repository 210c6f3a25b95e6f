/* Shows a tensor of SIZE elements COUNT times: tensor_cost SIZE COUNT */
#include <megascope/megascope.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const long size = argc > 1 ? atol(argv[1]) : 1;
  const long count = argc > 2 ? atol(argv[2]) : 1;
  float* values = calloc((size_t)size, sizeof *values);
  megascope_tensor_view view;
  memset(&view, 0, sizeof view);
  view.size_bytes = sizeof view;
  view.name = "tensor";
  view.dtype = MEGASCOPE_FLOAT32;
  view.data = values;
  view.dimensions = 1;
  view.shape[0] = size;
  megascope_region_leave(megascope_region_define("the recording begins"));
  for (long i = 0; i < count; ++i) megascope_tensor(&view);
  free(values);
  return 0;
}
