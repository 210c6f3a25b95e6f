/* The initialisers of megascope.h as C sees them, for c_header_test.cpp. */
#include "plugin/api/megascope/megascope.h"

megascope_tensor_view tensor_init_of_c(void) {
  const megascope_tensor_view view = MEGASCOPE_TENSOR_INIT;
  return view;
}

megascope_where where_init_of_c(void) {
  const megascope_where where = MEGASCOPE_WHERE_INIT;
  return where;
}
